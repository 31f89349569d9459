FROM python:3.12-slim

RUN useradd --create-home biatt
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt '.[serve]' && rm -rf /build

USER biatt
WORKDIR /home/biatt
# Compile the kernels, so that the service starts at once on processors like this one.
RUN biatt warmup

EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health')"]
ENTRYPOINT ["biatt", "serve", "--host", "0.0.0.0"]
