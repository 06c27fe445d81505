package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"herald/internal/launch"
	"herald/internal/operate"
)

// oldServer is a Temporal from before Worker Versioning.
type oldServer struct {
	client.WorkerDeploymentClient
	client.WorkerDeploymentHandle
}

func (s oldServer) GetHandle(string) client.WorkerDeploymentHandle { return s }

func (oldServer) Describe(context.Context, client.WorkerDeploymentDescribeOptions) (found client.WorkerDeploymentDescribeResponse, err error) {
	return found, serviceerror.NewUnimplemented("unknown method DescribeWorkerDeployment")
}

// A server without Worker Versioning ends the worker at once: it would get no tasks.
func TestOldServer(t *testing.T) {
	t.Parallel()

	server := mocks.NewClient(t)
	server.On("WorkerDeploymentClient").Return(oldServer{})
	w := &workers{operator: &operate.Operator{Launcher: &launch.Launcher{Client: server, Prefix: "herald"}}}
	require.ErrorContains(t, w.requireVersioning(t.Context()), "Herald needs a server of 1.28 or later")
}
