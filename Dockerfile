# Built in one image, run in another: no compiler, cache or source tree where it runs, and
# nothing there that its user may write but /data. docs/operations.md, "The image".
ARG PYTHON=3.11.14-slim-bookworm

FROM python:${PYTHON} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
# What builds stays here; nothing that installs is where it runs.
RUN python -m venv /opt/build && python -m venv --without-pip /opt/router
# What it depends on comes first: a layer that lasts until its lock changes. A file with another
# hash than the lock's ends the build.
COPY locks/pip.txt locks/build.txt locks/image.txt locks/
RUN /opt/build/bin/pip install --require-hashes --requirement locks/pip.txt \
    && /opt/build/bin/pip install --require-hashes --requirement locks/build.txt \
    && /opt/build/bin/pip --python /opt/router/bin/python install --require-hashes --requirement locks/image.txt
COPY . .
RUN /opt/build/bin/python -m hatchling build --target wheel --directory /tmp/wheel \
    && /opt/build/bin/pip --python /opt/router/bin/python install --no-deps /tmp/wheel/*.whl
# What is in the image, Debian's packages too: `docker run --rm --entrypoint cat IMAGE /opt/router/sbom.cdx.json`.
RUN /opt/build/bin/python -m supply.sbom --packages /opt/router/lib/python3.11/site-packages --system / \
    > /opt/router/sbom.cdx.json

FROM python:${PYTHON}
# Nothing is installed where it runs, so the base image's pip and setuptools go: they have known
# vulnerabilities.
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3.11/ensurepip /usr/local/lib/python3.11/site-packages/*
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
