// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
