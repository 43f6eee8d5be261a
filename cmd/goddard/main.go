// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Command goddard is the server and its tools.
package main

import (
	"os"

	"github.com/goddard-mq/goddard/internal/cli"
)

func main() { os.Exit(cli.Main()) }
