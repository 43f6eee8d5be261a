// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol_test

import (
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// remarkOf gives the text of a refusal, "" for none, and checks its code.
func remarkOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := err.(*protocol.Error)
	if !ok || e.Code != protocol.InvalidParameter {
		t.Errorf("refused with %#v", err)
		return err.Error()
	}
	return e.Remark
}

func TestNames(t *testing.T) {
	type row struct {
		Name, TopicRemark, GroupRemark        string
		TopicValid, GroupValid                bool
		System, NotSendable, SystemGroup, LMQ bool
		Retry, DLQ                            string
	}
	for _, r := range golden[[]row](t, "names.json") {
		if got := remarkOf(t, protocol.CheckTopic(r.Name)); got != r.TopicRemark || (got == "") != r.TopicValid {
			t.Errorf("topic %q: %q, want %q", r.Name, got, r.TopicRemark)
		}
		if got := remarkOf(t, protocol.CheckGroup(r.Name)); got != r.GroupRemark || (got == "") != r.GroupValid {
			t.Errorf("group %q: %q, want %q", r.Name, got, r.GroupRemark)
		}
		for what, is := range map[string][2]bool{
			"system topic": {protocol.IsSystemTopic(r.Name), r.System},
			"not sendable": {protocol.IsNotSendable(r.Name), r.NotSendable},
			"system group": {protocol.IsSystemGroup(r.Name), r.SystemGroup},
			"light topic":  {protocol.IsLMQ(r.Name), r.LMQ},
		} {
			if is[0] != is[1] {
				t.Errorf("%q: %s is %v", r.Name, what, is[0])
			}
		}
		if got := protocol.RetryTopic(r.Name); got != r.Retry || !protocol.IsRetryTopic(got) || protocol.GroupOfRetryTopic(got) != r.Name {
			t.Errorf("%q: retry topic %q", r.Name, got)
		}
		if got := protocol.DeadLetterTopic(r.Name); got != r.DLQ || !protocol.IsDeadLetterTopic(got) {
			t.Errorf("%q: dead-letter topic %q", r.Name, got)
		}
	}
}

// The texts that a broker of 5.5.0 gives.
func TestRefusals(t *testing.T) {
	const characters = ", contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
	tests := map[string]struct {
		err  error
		code int32
		want string
	}{
		"blank":               {protocol.CheckTopic(" \t\u3000\x1c"), protocol.InvalidParameter, "The specified topic is blank."},
		"no-break space":      {protocol.CheckTopic("\u00a0"), protocol.InvalidParameter, "The specified topic: \u00a0" + characters},
		"slash":               {protocol.CheckTopic("a/b"), protocol.InvalidParameter, "The specified topic: a/b" + characters},
		"hash":                {protocol.CheckTopic("a#b"), protocol.InvalidParameter, "The specified topic: a#b" + characters},
		"not ASCII":           {protocol.CheckTopic("名"), protocol.InvalidParameter, "The specified topic: 名" + characters},
		"long and wrong":      {protocol.CheckTopic(strings.Repeat("x", 300) + "!"), protocol.InvalidParameter, "The specified topic: " + strings.Repeat("x", 300) + "!" + characters},
		"128":                 {protocol.CheckTopic(strings.Repeat("x", 128)), protocol.InvalidParameter, "The specified topic: " + strings.Repeat("x", 128) + ", is longer than topic max length: 127"},
		"group of 121":        {protocol.CheckGroup(strings.Repeat("g", 121)), protocol.InvalidParameter, "The specified group: " + strings.Repeat("g", 121) + ", is longer than group max length: 120"},
		"system topic":        {protocol.SystemTopicConflict("TBW102"), protocol.InvalidParameter, "The topic[TBW102] is conflict with system topic."},
		"topic not to write":  {protocol.SendForbidden("SCHEDULE_TOPIC_XXXX"), protocol.NoPermission, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."},
		"longest retry topic": {protocol.CheckTopic("%RETRY%" + strings.Repeat("x", 248)), 0, ""},
		"longest group":       {protocol.CheckGroup(strings.Repeat("g", 120)), 0, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := protocol.CodeOf(tt.err); got != tt.code {
				t.Errorf("code %d", got)
			}
			if tt.err == nil && tt.want == "" {
				return
			}
			if e, ok := tt.err.(*protocol.Error); !ok || e.Remark != tt.want {
				t.Errorf("got %v, want %q", tt.err, tt.want)
			}
		})
	}
}

func TestNamespaces(t *testing.T) {
	type row struct {
		Namespace, Name, Wrapped, Without, WithoutGiven, NamespaceOf, Bare string
	}
	for _, r := range golden[[]row](t, "namespaces.json") {
		for what, got := range map[string][2]string{
			"wrapped":                   {protocol.WrapNamespace(r.Namespace, r.Name), r.Wrapped},
			"without":                   {protocol.WithoutNamespace(r.Name), r.Without},
			"without the given":         {protocol.WithoutGivenNamespace(r.Namespace, r.Name), r.WithoutGiven},
			"namespace":                 {protocol.NamespaceOf(r.Name), r.NamespaceOf},
			"without retry or DLQ sign": {protocol.WithoutRetryAndDLQ(r.Name), r.Bare},
		} {
			if got[0] != got[1] {
				t.Errorf("%q in %q: %s is %q, want %q", r.Name, r.Namespace, what, got[0], got[1])
			}
		}
	}
}

func TestPredefinedGroups(t *testing.T) {
	for group, want := range map[string]bool{
		"TOOLS_CONSUMER": true, "CID_ONS-HTTP-PROXY": true, "CID_RMQ_SYS_TRANS": true, "DEFAULT_CONSUMER": true,
		"mine": false, "": false, "tools_consumer": false,
	} {
		if got := protocol.IsPredefinedGroup(group); got != want {
			t.Errorf("%q: %v", group, got)
		}
	}
}
