// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// The broker's settings: GET_BROKER_CONFIG (26), UPDATE_BROKER_CONFIG (25).
//
// As in RocketMQ an update is taken setting by setting: unknown keys and values that do not fit are left out and the answer
// is a success. Unlike there the answer's remark names values that were refused and settings that need a restart: those
// are kept and shown, and the running broker goes on with what it was started with.

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// settingsHandler serves 25 and 26, on the admin lane.
type settingsHandler struct {
	cfg *config.Live[Config]
	log *slog.Logger
	// keep remembers changes for the next start; nil: they last until the process ends.
	keep func(changes []config.KV) error
	// applied is told of settings that changed, after the change; nil: everybody reads them at each use.
	applied func(keys []string) error

	mu      sync.Mutex // one update at a time; guards version
	version protocol.DataVersion
}

func newSettingsHandler(cfg *config.Live[Config], log *slog.Logger) *settingsHandler {
	return &settingsHandler{cfg: cfg, log: log, version: protocol.NewDataVersion(time.Now())}
}

// refusedSettings may not be changed by requests (RocketMQ: configBlackList).
var refusedSettings = []string{"brokerConfigPath", "rocketmqHome", "configBlackList"}

func (h *settingsHandler) get(*remoting.Exchange) (*remoting.Command, error) {
	h.mu.Lock()
	version := h.version
	h.mu.Unlock()
	return &remoting.Command{
		Code:   protocol.Success,
		Header: header.Of(protocol.BrokerConfigAnswer{Version: string(javajson.Marshal(version, javajson.Bare))}),
		Body:   []byte(config.FormatProperties(config.List(h.cfg.Configured()))),
	}, nil
}

func (h *settingsHandler) update(x *remoting.Exchange) (*remoting.Command, error) {
	properties, err := config.ParseProperties(x.Request.Body)
	if err != nil {
		return nil, protocol.Errorf(protocol.SystemError, "%v", err)
	}
	for _, p := range properties {
		if slices.Contains(refusedSettings, p.Key) {
			return nil, protocol.Errorf(protocol.NoPermission, "Can not update config in black list.")
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.setLocked(properties, x.Conn.RemoteAddr())
	if len(u.changed) == 0 {
		return &remoting.Command{Code: protocol.Success, Remark: u.remark()}, nil
	}
	h.version.Advance(time.Now(), 0)
	if h.applied != nil {
		if err := h.applied(u.keys()); err != nil {
			return nil, fmt.Errorf("use the new settings: %w", err)
		}
	}
	if h.keep != nil {
		if err := h.keep(u.changed); err != nil {
			return nil, fmt.Errorf("the new settings will be forgotten with this process: %w", err)
		}
	}
	return &remoting.Command{Code: protocol.Success, Remark: u.remark()}, nil
}

// settingsUpdate is what became of an update.
type settingsUpdate struct {
	changed []config.KV
	restart []string // changed, and in force after a restart only
	refused []string // faults
}

func (u *settingsUpdate) keys() []string {
	keys := make([]string, 0, len(u.changed))
	for _, kv := range u.changed {
		keys = append(keys, kv.Key)
	}
	return keys
}

// remark is "" when there is nothing to say.
func (u *settingsUpdate) remark() string {
	var parts []string
	if len(u.refused) > 0 {
		parts = append(parts, "left out: "+strings.Join(u.refused, "; "))
	}
	if len(u.restart) > 0 {
		parts = append(parts, "takes effect after a restart: "+strings.Join(u.restart, ", "))
	}
	return strings.Join(parts, "; ")
}

func (h *settingsHandler) setLocked(properties []config.Property, addr string) (u settingsUpdate) {
	for _, p := range properties {
		known, changed, err := h.cfg.Set(p.Key, p.Value)
		switch {
		case err != nil:
			h.log.Warn("setting refused", "key", p.Key, "value", p.Value, "addr", addr, "err", err)
			u.refused = append(u.refused, err.Error())
		case !known:
			h.log.Warn("unknown setting left out", "key", p.Key, "addr", addr)
		case changed:
			restart := h.cfg.Pending(p.Key)
			h.log.Info("setting changed", "key", p.Key, "value", p.Value, "addr", addr, "restart", restart)
			u.changed = append(u.changed, config.KV{Key: p.Key, Value: strings.TrimSpace(p.Value)})
			if restart {
				u.restart = append(u.restart, p.Key)
			}
		}
	}
	return u
}
