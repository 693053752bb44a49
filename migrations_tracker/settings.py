"""Django's settings: one file, read from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import django_stubs_ext
from csp.constants import NONE, SELF

from migrations_tracker.env import Environment

BASE_DIR = Path(__file__).resolve().parent.parent
# What `make run` makes: logs, ports, the addresses of its own services. Nothing is written outside it.
VAR_DIR = BASE_DIR / "var"

env = Environment()
# The environment wins over `.env`, and `.env` over what a running `make run` offers to other terminals.
env.load_file(BASE_DIR / ".env")
env.load_file(VAR_DIR / "services.env")

DEBUG = env.flag(
    "DEBUG", default=False, meaning="Show errors in full in the browser. Never where others can reach it."
)
SECRET_KEY = env.secret(
    "SECRET_KEY", meaning="Signs sessions and forms. At least 50 random characters, kept private."
)
ALLOWED_HOSTS = env.names(
    "ALLOWED_HOSTS",
    default=("localhost", "127.0.0.1", "[::1]"),
    meaning="The host names that the pages answer to.",
)
CSRF_TRUSTED_ORIGINS = env.names(
    "CSRF_TRUSTED_ORIGINS",
    meaning="Origins with scheme, such as `https://audit.example.org`, behind a proxy.",
)

INSTALLED_APPS = [
    "migrations_tracker.apps.MigrationsTrackerConfig",
    "workers.apps.WorkersConfig",
    "audit.apps.AuditConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "csp",
    "django_celery_beat",
    "django_htmx",
    "pgtrigger",
    "pghistory",
    "template_partials",
]

MIDDLEWARE = [
    "migrations_tracker.health.HealthMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "migrations_tracker.clean_addresses.CleanAddressMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "migrations_tracker.second_factor.SecondFactorMiddleware",
    "migrations_tracker.access.RoleMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "pghistory.middleware.HistoryMiddleware",
]

ROOT_URLCONF = "migrations_tracker.urls"
WSGI_APPLICATION = "migrations_tracker.wsgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["template_partials.templatetags.partials"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "migrations_tracker.theme.theme",
                "migrations_tracker.typed.typed",
            ],
        },
    },
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        **env.database(
            "DATABASE_URL",
            meaning="PostgreSQL 15 or later. Unset, `make run` brings a server of its own.",
        ),
        "CONN_HEALTH_CHECKS": True,
    }
}
DATABASE_POOL_SIZE = env.number(
    "DATABASE_POOL_SIZE",
    default=8,
    meaning="Connections that one web process keeps open; 0 opens one per request.",
)
if DATABASE_POOL_SIZE:
    DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {"min_size": 1, "max_size": DATABASE_POOL_SIZE}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Who counts attempts to log in and codes that were used counts for all processes of the web server; what a
# page counted once need be kept for its own process only.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "migrations_tracker_sharedcache",
    },
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["migrations_tracker.access.RoleBackend"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
SECOND_FACTOR = env.choice(
    "SECOND_FACTOR",
    ("off", "optional", "required"),
    default="off",
    meaning="`optional` lets people protect their log-in by codes of an authenticator app, `required` makes "
    "everybody; `off` offers none, but whoever has one is still asked for it.",
)
OIDC_SERVER = env.text(
    "OIDC_SERVER",
    meaning="The address of an OpenID Connect provider, such as `https://login.example.org/realms/team`, "
    "whose people may log in here. Unset, only names and passwords. Register there "
    "`SITE_URL/account/oidc/oidc/login/callback/`.",
)
OIDC_NAME = env.text("OIDC_NAME", default="OpenID Connect", meaning="What the log-in page calls it.")
OIDC_CLIENT_ID = env.text("OIDC_CLIENT_ID", meaning="The client's id there.")
OIDC_CLIENT_SECRET = env.secret("OIDC_CLIENT_SECRET", meaning="The client's secret there.")
ACCOUNT_ADAPTER = "migrations_tracker.second_factor.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "migrations_tracker.open_id.ProviderAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
# A session that somebody left open joins no other log-in to the account.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Ferroaudit"
MFA_ADAPTER = "migrations_tracker.sealed_secrets.SecondFactorAdapter"
SOCIALACCOUNT_ONLY = False
SOCIALACCOUNT_LOGIN_ON_GET = False
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = "oidc"
# Two people with the same address are not taken for one: only the provider's own id counts.
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {
    "openid_connect": {
        "APPS": [
            {
                "provider_id": "oidc",
                "name": OIDC_NAME,
                "client_id": OIDC_CLIENT_ID,
                "secret": OIDC_CLIENT_SECRET,
                "settings": {"server_url": OIDC_SERVER},
            }
        ]
        if OIDC_SERVER
        else []
    }
}

LANGUAGE_CODE = "en"
TIME_ZONE = env.text(
    "TIME_ZONE",
    default="UTC",
    meaning="The team's zone: times are shown and schedules meant in it; stored is UTC.",
)
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = Path(
    env.text(
        "STATIC_ROOT",
        default=str(VAR_DIR / "static"),
        meaning="Where `collectstatic` puts style sheets and scripts.",
    )
)
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

FILE_UPLOAD_HANDLERS = [
    "migrations_tracker.uploads.LimitedUploads",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]
ATTACHMENTS_MAX_MB = env.number(
    "ATTACHMENTS_MAX_MB", default=500, meaning="How much the files beside comments of one repository take."
)
# As much as the largest document that is imported, with what a form puts around it.
DATA_UPLOAD_MAX_MEMORY_SIZE = 6 * 1024 * 1024

# No inline script or style anywhere: htmx is told so in templates/base.html.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
IS_HTTPS = env.flag(
    "HTTPS", default=False, meaning="The pages are served over HTTPS: secure cookies, HSTS, redirects."
)
if IS_HTTPS:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
IS_BEHIND_PROXY = env.flag(
    "BEHIND_PROXY", default=False, meaning="A proxy in front sets `X-Forwarded-Proto`; trust it."
)
if IS_BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CELERY_BROKER_URL = env.secret(
    "BROKER_URL",
    meaning="Valkey or Redis, `redis://:password@host:6379/0`. Unset, `make run` brings its own.",
)
SCAN_JOBS = env.number("SCAN_JOBS", default=1, meaning="Processes that one scan reads files with.")
SCAN_SHARED_FROM_MB = env.number(
    "SCAN_SHARED_FROM_MB",
    default=4,
    meaning="From how much Rust that was never parsed before all workers share the parsing of one scan; with "
    "SCAN_JOBS above 1, each scan uses processes of its own instead.",
)
SCAN_CACHE_DIR = Path(
    env.text(
        "SCAN_CACHE_DIR", default=str(VAR_DIR / "cache"), meaning="Where what was read of each file is kept."
    )
)
REPOSITORIES_DIR = Path(
    env.text(
        "REPOSITORIES_DIR",
        default=str(VAR_DIR / "repositories"),
        meaning="Where clones of remote repositories lie.",
    )
)
REPOSITORY_SCHEMES = env.names(
    "REPOSITORY_SCHEMES",
    default=("https", "ssh", "file"),
    meaning="What repositories may be read by, of `https`, `http`, `ssh`, `git` and `file`; without `file`, "
    "no folder on this machine.",
)
REPOSITORY_HOSTS = env.names(
    "REPOSITORY_HOSTS",
    meaning="The only hosts that are fetched from, such as `github.com,*.example.org`; redirects to others "
    "are not followed. Unset, any host.",
)
REPOSITORY_PATHS = env.names(
    "REPOSITORY_PATHS",
    meaning="The only folders on this machine that repositories may lie in. Unset, any folder.",
)
CREDENTIALS_DIR = Path(
    env.text(
        "CREDENTIALS_DIR",
        default=str(VAR_DIR / "credentials"),
        meaning="Where files lie that a repository's settings may name as `file:NAME`: lines "
        "`https://user:token@host`, or a private key for ssh. A variable that they name as `env:NAME` begins "
        "with `GIT_CREDENTIAL_` and holds such lines. Only workers read them.",
    )
)
FETCH_TIMEOUT_SECONDS = env.number(
    "FETCH_TIMEOUT_SECONDS", default=1800, meaning="How long a clone or fetch may take."
)
FETCH_MAX_MB = env.number("FETCH_MAX_MB", default=4096, meaning="How large one clone may become.")
FETCH_KEEP_FREE_MB = env.number(
    "FETCH_KEEP_FREE_MB", default=1024, meaning="How much of the disk with the clones stays free."
)

BUNDLES_DIR = Path(
    env.text(
        "BUNDLES_DIR", default=str(VAR_DIR / "bundles"), meaning="Where test bundles for runners are kept."
    )
)
RUNNER_BROKER_URL = env.secret(
    "RUNNER_BROKER_URL",
    meaning="The broker's address as GPU machines reach it, without user and password: each runner gets its "
    "own. Unset, that of `BROKER_URL`.",
)
API_REQUESTS_PER_MINUTE = env.number(
    "API_REQUESTS_PER_MINUTE",
    default=600,
    meaning="How often one token may ask in a minute; beyond that the answer is 429.",
)
GPU_MINUTES_PER_DAY = env.number(
    "GPU_MINUTES_PER_DAY",
    default=0,
    meaning="Minutes that tests may run on GPUs in 24 hours before jobs wait; 0 is no limit.",
)
GPU_MINUTES_PER_SCAN = env.number(
    "GPU_MINUTES_PER_SCAN",
    default=0,
    meaning="How many of these the tests of one scan's commit may take; 0 is no limit.",
)

SITE_URL = env.text(
    "SITE_URL",
    default="http://localhost:8000",
    meaning="The address that people open, such as `https://audit.example.org`: messages link to it.",
)
EMAIL_HOST = env.text(
    "EMAIL_HOST", meaning="The mail server that notices are sent through. Unset, no e-mail."
)
EMAIL_PORT = env.number("EMAIL_PORT", default=587, meaning="Its port.")
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER", meaning="The name to log in there with.")
EMAIL_HOST_PASSWORD = env.secret("EMAIL_HOST_PASSWORD", meaning="The password for it.")
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=True, meaning="Speak to it through STARTTLS.")
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", default="ferroaudit@localhost", meaning="Whom notices come from.")
WEBHOOK_HOSTS = env.names(
    "WEBHOOK_HOSTS",
    meaning="The only hosts that notices are posted to, such as `hooks.example.org,*.internal`. Unset, any "
    "host outside the inner network.",
)
DIGEST_HOUR = env.number(
    "DIGEST_HOUR", default=7, meaning="From which hour of the day, in TIME_ZONE, daily messages are sent."
)

LOG_LEVEL = env.text("LOG_LEVEL", default="INFO", meaning="DEBUG, INFO, WARNING or ERROR.")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(levelname)s %(name)s: %(message)s"}},
    "filters": {"routine": {"()": "workers.logs.NotRoutine"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["routine"]}},
    # It tells of each table of each font that a PDF is set in.
    "loggers": {"fontTools": {"level": "WARNING"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
}

# Lets generic Django classes be written with their type parameters.
django_stubs_ext.monkeypatch()
