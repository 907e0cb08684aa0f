# One image for web, worker and the preparing step. Nothing in it is written to at run time but /data.
FROM python:3.13-slim AS packages
RUN python -m venv /venv
COPY requirements.txt /requirements.txt
RUN /venv/bin/pip install --no-cache-dir --disable-pip-version-check -r /requirements.txt

FROM python:3.13-slim
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin lumina \
    && install -d -m 700 -o lumina -g lumina /data
COPY --from=packages /venv /venv
WORKDIR /app
COPY manage.py LICENSE ./
COPY lumina lumina
COPY chat chat
COPY memory memory
COPY scripts scripts
COPY templates templates
COPY static static
COPY library library
ENV PATH=/venv/bin:$PATH \
    LUMINA_VAR=/data \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
RUN python -m compileall -q -j 0 /app /venv
USER 10001:10001
VOLUME /data
EXPOSE 8000
CMD ["python", "-m", "scripts.lib.serve", "--host", "0.0.0.0", "--port", "8000"]
