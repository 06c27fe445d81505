# One image for all commands: worker, gateway, starter, and the sandbox and the demo of docker compose. It holds no settings and no secrets;
# everything comes from the environment (docs/processes.md).

FROM --platform=$BUILDPLATFORM golang:1.26.8-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
# The repository is not part of the image's sources: docker build --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT=""
# The same sources give the same bytes, in whatever folder and on whatever machine.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w -buildid= -X herald/internal/config/version.commit=${COMMIT}" -o /out/ ./worker ./gateway ./starter ./tools/sandbox/cmd/sandbox ./tools/demo/cmd/demo

# Alpine rather than an empty image: its wget asks for the health of a container, and its
# shell is there for an operator. Zones are in the programs, certificates come along.
FROM alpine:3.24.1
RUN addgroup -g 65532 herald && \
    adduser -D -u 65532 -G herald -h /var/lib/herald herald
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ /usr/local/bin/
USER 65532:65532
WORKDIR /var/lib/herald
EXPOSE 8080 8081
CMD ["worker"]
