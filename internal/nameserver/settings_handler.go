// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// settingsHandler answers 318 and 319.
type settingsHandler struct {
	config *config.Live[Config]
	log    *slog.Logger
	mu     sync.Mutex // one change, with the writing of the file, at a time
}

// update changes settings. As in RocketMQ a key that is not known and a value that cannot be taken are passed over with
// SUCCESS; here they leave a log line. What is read at start only is kept and shown, and named in the remark.
func (h *settingsHandler) update(x *remoting.Exchange) (*remoting.Command, error) {
	properties, err := config.ParseProperties(x.Request.Body)
	if err != nil {
		return nil, &protocol.Error{Code: protocol.SystemError, Remark: "string2Properties error"}
	}
	refused := append([]string{"rocketmqHome"}, h.config.Load().Files.BlackList...)
	for _, p := range properties {
		if slices.Contains(refused, p.Key) {
			return nil, &protocol.Error{Code: protocol.NoPermission, Remark: "Can not update config in black list."}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var altered []config.KV
	var restart []string
	for _, p := range properties {
		known, changed, err := h.config.Set(p.Key, p.Value)
		switch {
		case err != nil:
			h.log.Warn("setting not changed", "key", p.Key, "value", p.Value, "addr", x.Conn.RemoteAddr(), "err", err)
		case !known:
			h.log.Warn("setting not known", "key", p.Key, "addr", x.Conn.RemoteAddr())
		case changed:
			altered = append(altered, config.KV{Key: p.Key, Value: p.Value})
			pending := h.config.Pending(p.Key)
			h.log.Info("setting changed", "key", p.Key, "value", p.Value, "addr", x.Conn.RemoteAddr(), "restart", pending)
			if pending {
				restart = append(restart, p.Key)
			}
		}
	}
	if len(altered) > 0 {
		if err := h.keepLocked(altered); err != nil {
			return nil, err
		}
	}
	answer := &remoting.Command{}
	if len(restart) > 0 {
		answer.Remark = "takes effect after a restart: " + strings.Join(restart, ", ")
	}
	return answer, nil
}

// keepLocked adds changes to the file of settings, which the next start reads.
func (h *settingsHandler) keepLocked(changes []config.KV) error {
	path := h.config.Load().Files.Settings
	if path == "" {
		return nil
	}
	if err := config.Keep(path, changes); err != nil {
		h.log.Error("settings changed, but not kept", "err", err)
		return err
	}
	return nil
}

func (h *settingsHandler) get(*remoting.Exchange) (*remoting.Command, error) {
	return &remoting.Command{Body: []byte(config.FormatProperties(config.List(h.config.Configured())))}, nil
}
