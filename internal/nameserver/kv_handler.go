// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"log/slog"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// kvHandler answers 100, 101, 102 and 219.
type kvHandler struct {
	kv  *kvConfig
	log *slog.Logger
}

func (h *kvHandler) put(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.PutKVConfigRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	if q.Namespace == nil || q.Key == nil {
		return nil, &protocol.Error{Code: protocol.SystemError, Remark: "namespace or key is null"}
	}
	if err := h.kv.put(*q.Namespace, *q.Key, q.Value); err != nil {
		h.log.Error("key-value setting not kept", "namespace", *q.Namespace, "key", *q.Key, "err", err)
		return nil, err
	}
	h.log.Info("key-value setting put", "namespace", *q.Namespace, "key", *q.Key, "addr", x.Conn.RemoteAddr())
	return &remoting.Command{}, nil
}

func (h *kvHandler) get(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.GetKVConfigRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	value, ok := h.kv.get(q.Namespace, q.Key)
	if !ok {
		e := protocol.Errorf(protocol.QueryNotFound, "No config item, Namespace: %s Key: %s", q.Namespace, q.Key)
		return &remoting.Command{Code: e.Code, Remark: e.Remark, EmptyFields: true}, nil
	}
	return &remoting.Command{Header: header.Of(&protocol.GetKVConfigResponse{Value: &value})}, nil
}

func (h *kvHandler) remove(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.DeleteKVConfigRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	if err := h.kv.remove(q.Namespace, q.Key); err != nil {
		h.log.Error("removal of a key-value setting not kept", "namespace", q.Namespace, "key", q.Key, "err", err)
		return nil, err
	}
	h.log.Info("key-value setting removed", "namespace", q.Namespace, "key", q.Key, "addr", x.Conn.RemoteAddr())
	return &remoting.Command{}, nil
}

func (h *kvHandler) list(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.KVListRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	table, ok := h.kv.list(q.Namespace)
	if !ok {
		return nil, protocol.Errorf(protocol.QueryNotFound, "No config item, Namespace: %s", q.Namespace)
	}
	return jsonBody(&protocol.KVTable{Table: table}), nil
}
