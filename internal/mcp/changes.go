package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Changes makes changes.
type Changes struct{}

func (c *Changes) add(*sdk.Server, Config) {}
