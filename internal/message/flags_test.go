// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message_test

import (
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

func TestFlags(t *testing.T) {
	type row struct {
		SysFlag, Transaction, ToCommit, ToRollback, ClearCompressed int32
	}
	for _, r := range golden[[]row](t, "sys_flags.json") {
		for what, got := range map[string][2]int32{
			"transaction":          {message.Transaction(r.SysFlag), r.Transaction},
			"made a commit":        {message.WithTransaction(r.SysFlag, message.TransactionCommit), r.ToCommit},
			"made a rollback":      {message.WithTransaction(r.SysFlag, message.TransactionRollback), r.ToRollback},
			"no longer compressed": {r.SysFlag &^ message.FlagCompressed, r.ClearCompressed},
		} {
			if got[0] != got[1] {
				t.Errorf("%#x: %s is %#x, want %#x", r.SysFlag, what, got[0], got[1])
			}
		}
	}
}
