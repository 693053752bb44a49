# syntax=docker/dockerfile:1
# Two images: `app` (pages, worker, clock) and `runner` (a GPU machine's side).
ARG PYTHON_IMAGE=python:3.13-slim-trixie

FROM ${PYTHON_IMAGE} AS base
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PATH=/opt/venv/bin:$PATH
RUN python -m venv /opt/venv \
    && useradd --system --uid 10001 --create-home --home-dir /home/ferroaudit ferroaudit \
    && install -d -o ferroaudit -g ferroaudit /srv/ferroaudit /srv/ferroaudit/var
WORKDIR /srv/ferroaudit

FROM base AS app
# Versions of git move with Debian's security updates, and a pinned one would vanish from its archive.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git openssh-client \
    && rm -rf /var/lib/apt/lists/*
COPY docker/app.lock ./
RUN pip install --no-cache-dir --require-hashes --no-deps --only-binary :all: -r app.lock
COPY manage.py LICENSE ./
COPY audit ./audit
COPY workers ./workers
COPY migrations_tracker ./migrations_tracker
COPY templates ./templates
COPY static ./static
ENV DJANGO_SETTINGS_MODULE=migrations_tracker.settings \
    STATIC_ROOT=/srv/ferroaudit/static-files
# The key signs nothing here: collecting files only has to read the settings.
RUN SECRET_KEY=not-used-when-collecting-files python manage.py collectstatic --noinput --verbosity 0
USER 10001
VOLUME ["/srv/ferroaudit/var"]
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 \
    CMD ["python", "-m", "migrations_tracker.healthcheck"]
CMD ["gunicorn", "migrations_tracker.wsgi:application", "--bind", "0.0.0.0:8000", "--workers", "2", \
     "--worker-class", "gthread", "--threads", "8", "--access-logfile", "-", "--no-control-socket", \
     "--worker-tmp-dir", "/dev/shm"]

FROM base AS runner
# A compiler for the tracer and for crates with build scripts; rustup brings the toolchain that a commit names.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates gcc g++ git libc6-dev make pkg-config rustup \
    && rm -rf /var/lib/apt/lists/*
COPY docker/runner.lock ./
RUN pip install --no-cache-dir --require-hashes --no-deps --only-binary :all: -r runner.lock
COPY LICENSE ./
COPY workers ./workers
USER 10001
ENV CARGO_HOME=/srv/ferroaudit/var/cargo \
    RUSTUP_HOME=/home/ferroaudit/.rustup
RUN rustup default stable
VOLUME ["/srv/ferroaudit/var"]
HEALTHCHECK NONE
CMD ["python", "-m", "workers.runner", "probe"]
