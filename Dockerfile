# Built in one image, run in another: no compiler, cache or source tree where it runs, and
# nothing there that its user may write but /data. docs/operations.md, "The image".
ARG PYTHON=3.11.14-slim-bookworm

FROM python:${PYTHON} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
RUN python -m venv /opt/router
# What it depends on comes first: a layer that lasts until pyproject.toml changes.
COPY pyproject.toml deploy/requirements.py ./
RUN python requirements.py pyproject.toml adapters documents anthropic gemini trials > requirements.txt \
    && /opt/router/bin/pip install --requirement requirements.txt
COPY . .
RUN /opt/router/bin/pip install --no-deps .

FROM python:${PYTHON}
# The base image comes without bytecode, and a read-only root never gets any: each start
# would compile four hundred modules.
RUN python -m compileall -q -x '/(test|tests|idlelib|lib2to3|site-packages)/' /usr/local/lib/python3.11 \
    && groupadd --system --gid 10001 router \
    && useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent router \
    && install --directory --owner=router --group=router --mode=0700 /data
COPY --from=build /opt/router /opt/router
ENV PATH=/opt/router/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ROUTER_DATA=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
# In exec form, so that SIGTERM reaches the program. Whether it is well is asked differently of
# `serve` and `worker`: docker-compose.yml has a healthcheck for each.
ENTRYPOINT ["intent-router"]
CMD ["serve", "--host", "0.0.0.0"]
