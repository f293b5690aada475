# The command in a container that has no network, no root and no more than the folder that it is given:
#
#   docker build -t anonymize .
#   docker run --rm --network none --user "$(id -u):$(id -g)" -v "$PWD:/data" anonymize release spec.yaml -o released.csv

FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[html]'

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index /wheels/*.whl \
 && rm -rf /wheels \
 && useradd --no-create-home --uid 10001 anonymize
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["anonymize"]
CMD ["--help"]
