# Built in one image, run in another: no compiler, cache or source tree where it runs.
FROM python:3.11-slim AS build
WORKDIR /build
RUN python -m venv /opt/router
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels . \
    && /opt/router/bin/pip install --no-cache-dir --no-index --find-links=/wheels intent-router

FROM python:3.11-slim
ENV PATH=/opt/router/bin:$PATH PYTHONUNBUFFERED=1
RUN useradd --system --uid 10001 --home-dir /data --create-home router
COPY --from=build /opt/router /opt/router
USER router
WORKDIR /data
EXPOSE 8000
ENTRYPOINT ["intent-router"]
CMD ["serve", "--host", "0.0.0.0"]
