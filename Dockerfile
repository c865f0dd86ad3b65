# whoknows serve in a container: docker build -t whoknows . && docker run -p 8000:8000 -v whoknows:/data whoknows
FROM python:3.12-slim
RUN useradd --create-home --uid 1000 whoknows && mkdir /data && chown whoknows /data
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN pip install --no-cache-dir '/source[io,postgres,web]' && rm -r /source
USER whoknows
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["whoknows", "serve", "/data", "--host", "0.0.0.0", "--port", "8000", "--auth"]
