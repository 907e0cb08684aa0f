"""Settings: read once from the environment, with a loud error for a wrong value.

Only DATABASE_URL and REDIS_URL switch between the embedded and the production way of running.
Every variable is described in docs/CONFIGURATION.md; a test asserts that none is missing there.
"""

import secrets
from pathlib import Path

from lumina.environment import Environment

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment()

VAR_DIR = env.path("LUMINA_VAR", BASE_DIR / "var")
VAR_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)


def _kept_secret(path: Path) -> str:
    """The secret key of this installation: made on first use, readable by its owner alone."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
    return path.read_text().strip()


SECRET_KEY = env.text("LUMINA_SECRET_KEY", "") or _kept_secret(VAR_DIR / "secret_key")
DEBUG = env.flag("LUMINA_DEBUG", False)
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *env.names("LUMINA_HOSTS")]
CSRF_TRUSTED_ORIGINS = env.names("LUMINA_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "channels",
    "chat",
    "memory",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "chat.accounts.middleware.VisitorMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "lumina.faults.AdminPlaces",
]

ROOT_URLCONF = "lumina.urls"
ASGI_APPLICATION = "lumina.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "chat.context.sidebar",
            ],
        },
    },
]

# --- Storage -----------------------------------------------------------------------------------

DATABASES = {"default": env.database("DATABASE_URL", VAR_DIR / "lumina.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.text("REDIS_URL", "")
REDIS_PREFIX = env.text("LUMINA_REDIS_PREFIX", "lumina")
CHANNEL_LAYERS = {
    "default": (
        {
            # The pub/sub layer: the list-based one drops messages above its capacity and closes
            # idle sockets under redis-py 8.
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": REDIS_PREFIX},
        }
        if REDIS_URL
        else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    )
}

CELERY_BROKER_URL = REDIS_URL or "filesystem://localhost"
CELERY_BROKER_DIR = VAR_DIR / "broker"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    "sweep runs": {"task": "chat.tasks.sweep_runs", "schedule": 60.0},
    "tidy people": {"task": "chat.tasks.tidy_people", "schedule": 3600.0},
    "scan library": {"task": "chat.tasks.scan_library", "schedule": 600.0},
    "find what is not summarised": {
        "task": "memory.tasks_summaries.find_unsummarised",
        "schedule": 60.0,
    },
}
if REDIS_URL:
    # A task whose worker was killed is given to another after ten minutes; no task takes so long.
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "global_keyprefix": f"{REDIS_PREFIX}.",
        "visibility_timeout": 600,
    }
else:
    for _folder in ("queue", "control"):
        (CELERY_BROKER_DIR / _folder).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(CELERY_BROKER_DIR / "queue"),
        "data_folder_out": str(CELERY_BROKER_DIR / "queue"),
        "control_folder": str(CELERY_BROKER_DIR / "control"),
    }

# --- The index of the history -------------------------------------------------------------------

LUMINA_EMBEDDER = env.choice("LUMINA_EMBEDDER", "default", among=("default", "endpoint", "none"))
LUMINA_EMBEDDER_URL = env.url("LUMINA_EMBEDDER_URL", "")
LUMINA_EMBEDDER_MODEL = env.text("LUMINA_EMBEDDER_MODEL", "")
LUMINA_EMBEDDER_DIMENSIONS = env.count("LUMINA_EMBEDDER_DIMENSIONS", 1_024, at_least=1)
LUMINA_EMBEDDER_KEY = env.text("LUMINA_EMBEDDER_KEY", "")
CELERY_BEAT_SCHEDULE["index history"] = {"task": "memory.tasks.index_backlog", "schedule": 60.0}

# --- People ------------------------------------------------------------------------------------

AUTH_USER_MODEL = "chat.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "chat.accounts.passwords.NotAboutYou"},
    {"NAME": "chat.accounts.passwords.LongEnough", "OPTIONS": {"min_length": 10}},
    {"NAME": "chat.accounts.passwords.NotCommon"},
    {"NAME": "chat.accounts.passwords.NotNumbersAlone"},
]
SESSION_ENGINE = "chat.accounts.sessions"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
LUMINA_BIND = env.text("LUMINA_BIND", "127.0.0.1")
SESSION_COOKIE_AGE = 60 * 60 * 24 * 60
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.flag("LUMINA_HTTPS", False)
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SECURE_REFERRER_POLICY = "same-origin"
LUMINA_BEHIND_PROXY = env.flag("LUMINA_BEHIND_PROXY", False)
if LUMINA_BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    USE_X_FORWARDED_HOST = True
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- Language, time, files ---------------------------------------------------------------------

LANGUAGE_CODE = "en"
TIME_ZONE = env.time_zone("LUMINA_TIME_ZONE", "UTC")
USE_TZ = True
USE_I18N = True

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "lumina.static.ModuleManifestStaticFilesStorage"},
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000

# --- The model ---------------------------------------------------------------------------------

LUMINA_MODEL_URL = env.url("LUMINA_MODEL_URL", "")
LUMINA_MODEL = env.text("LUMINA_MODEL", "")
LUMINA_MODEL_KEY = env.text("LUMINA_MODEL_KEY", "")
LUMINA_MODEL_DISCOVERY = env.flag("LUMINA_MODEL_DISCOVERY", True)
LUMINA_MODEL_CONTEXT_TOKENS = env.count("LUMINA_MODEL_CONTEXT_TOKENS", 0, at_least=0)
LUMINA_MODEL_TIMEOUT_SECONDS = env.seconds("LUMINA_MODEL_TIMEOUT_SECONDS", 120)

# --- Search and reading ------------------------------------------------------------------------

LUMINA_WEB = env.flag("LUMINA_WEB", True)
LUMINA_SEARCH_PROVIDERS = env.names(
    "LUMINA_SEARCH_PROVIDERS",
    ["searxng", "tavily", "brave", "keyless", "wikipedia"],
    among=["searxng", "tavily", "brave", "keyless", "wikipedia"],
)
LUMINA_SEARXNG_URL = env.url("LUMINA_SEARXNG_URL", "")
LUMINA_TAVILY_KEY = env.text("LUMINA_TAVILY_KEY", "")
LUMINA_TAVILY_URL = env.url("LUMINA_TAVILY_URL", "https://api.tavily.com")
LUMINA_BRAVE_KEY = env.text("LUMINA_BRAVE_KEY", "")
LUMINA_BRAVE_URL = env.url("LUMINA_BRAVE_URL", "https://api.search.brave.com")
LUMINA_WIKIPEDIA_URL = env.url("LUMINA_WIKIPEDIA_URL", "https://{language}.wikipedia.org")
LUMINA_SEARCH_TIMEOUT_SECONDS = env.seconds("LUMINA_SEARCH_TIMEOUT_SECONDS", 8)
LUMINA_FETCH_ALLOWED_HOSTS = env.names("LUMINA_FETCH_ALLOWED_HOSTS")
LUMINA_FETCH_TIMEOUT_SECONDS = env.seconds("LUMINA_FETCH_TIMEOUT_SECONDS", 15)
LUMINA_FETCH_MAX_BYTES = env.count("LUMINA_FETCH_MAX_BYTES", 5_000_000, at_least=10_000)

# --- One run -----------------------------------------------------------------------------------

LUMINA_MAX_STEPS = env.count("LUMINA_MAX_STEPS", 8, at_least=1)
LUMINA_MAX_TOKENS = env.count("LUMINA_MAX_TOKENS", 200_000, at_least=1_000)
LUMINA_MAX_SECONDS = env.seconds("LUMINA_MAX_SECONDS", 300)
LUMINA_ANSWER_TOKENS = env.count("LUMINA_ANSWER_TOKENS", 4_096, at_least=16)
LUMINA_HISTORY_TOKENS = env.count("LUMINA_HISTORY_TOKENS", 32_000, at_least=0)
LUMINA_WINDOW_MESSAGES = env.count("LUMINA_WINDOW_MESSAGES", 20, at_least=0)
LUMINA_WINDOW_SHARE = env.share("LUMINA_WINDOW_SHARE", 0.8)
LUMINA_MEMORY_FILES_TOKENS = env.count("LUMINA_MEMORY_FILES_TOKENS", 2_000, at_least=0)
LUMINA_SUMMARY_SPANS = env.count("LUMINA_SUMMARY_SPANS", 8, at_least=0)
LUMINA_SUMMARY_TOKENS = env.count("LUMINA_SUMMARY_TOKENS", 600, at_least=60)
LUMINA_SUMMARY_SECONDS = env.seconds("LUMINA_SUMMARY_SECONDS", 600)
LUMINA_CHECK_ANSWERS = env.flag("LUMINA_CHECK_ANSWERS", True)
LUMINA_QUESTION_MAX_CHARS = env.count("LUMINA_QUESTION_MAX_CHARS", 20_000, at_least=100)

# --- Accounts, rates and quotas ----------------------------------------------------------------

LUMINA_SIGNUP = env.flag("LUMINA_SIGNUP", False)
LUMINA_INVITATION_DAYS = env.count("LUMINA_INVITATION_DAYS", 7, at_least=1)
LUMINA_ENCRYPTION_KEY = env.names("LUMINA_ENCRYPTION_KEY")
LUMINA_AUDIT_DAYS = env.count("LUMINA_AUDIT_DAYS", 365, at_least=0)
LUMINA_ASKS_PER_MINUTE = env.count("LUMINA_ASKS_PER_MINUTE", 30, at_least=0)
LUMINA_SEARCHES_PER_MINUTE = env.count("LUMINA_SEARCHES_PER_MINUTE", 120, at_least=0)
LUMINA_DOOR_TRIES = env.count("LUMINA_DOOR_TRIES", 10, at_least=0)
LUMINA_ADDRESS_FACTOR = env.count("LUMINA_ADDRESS_FACTOR", 5, at_least=1)
LUMINA_TOKENS_PER_DAY = env.count("LUMINA_TOKENS_PER_DAY", 0, at_least=0)
LUMINA_TOKENS_PER_MONTH = env.count("LUMINA_TOKENS_PER_MONTH", 0, at_least=0)
LUMINA_SNAPSHOT_BYTES = env.count("LUMINA_SNAPSHOT_BYTES", 0, at_least=0)
LUMINA_LIBRARY_BYTES = env.count("LUMINA_LIBRARY_BYTES", 0, at_least=0)
LUMINA_SMTP_HOST = EMAIL_HOST = env.text("LUMINA_SMTP_HOST", "")
EMAIL_PORT = env.count("LUMINA_SMTP_PORT", 587, at_least=1)
EMAIL_HOST_USER = env.text("LUMINA_SMTP_USER", "")
EMAIL_HOST_PASSWORD = env.text("LUMINA_SMTP_PASSWORD", "")
_smtp_security = env.choice("LUMINA_SMTP_SECURITY", "starttls", among=("starttls", "tls", "none"))
EMAIL_USE_TLS, EMAIL_USE_SSL = _smtp_security == "starttls", _smtp_security == "tls"
EMAIL_TIMEOUT = 15
DEFAULT_FROM_EMAIL = env.text("LUMINA_MAIL_FROM", "lumina@localhost")

# --- Metrics and logs --------------------------------------------------------------------------

LUMINA_METRICS = env.flag("LUMINA_METRICS", False)
LUMINA_METRICS_TOKEN = env.text("LUMINA_METRICS_TOKEN", "")
LUMINA_TRACING = env.flag("LUMINA_TRACING", False)

# What these say below a warning holds questions, pages or answers.
TALKATIVE = ["django.db.backends", "ddgs", "httpcore", "httpx", "httpx2", "markdown_it", "openai"]
TALKATIVE += ["primp", "trafilatura", "urllib3", "uvicorn.asgi", "websockets"]
LOG_FORMATTERS = {"line": "chat.logs.LineFormatter", "json": "chat.logs.JsonFormatter"}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "chosen": {
            "()": LOG_FORMATTERS[
                env.choice("LUMINA_LOG_FORMAT", "line", among=tuple(LOG_FORMATTERS))
            ],
            "show_messages": DEBUG,
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "chosen"}},
    "root": {"handlers": ["console"], "level": env.text("LUMINA_LOG_LEVEL", "WARNING")},
    "loggers": {
        "lumina": {"level": "INFO"},
        "celery": {"level": "INFO"},
        **{name: {"level": "WARNING"} for name in TALKATIVE},
        # Without Redis it prints a fault a second; chat.hub says once that it is gone.
        "channels_redis": {"level": "CRITICAL"},
    },
}

env.finish()
