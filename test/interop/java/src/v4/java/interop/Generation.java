// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Where the 4.x client's names differ from those of 5.x. */
final class Generation {
  private Generation() {}

  static void broadcasting(DefaultMQPushConsumer c) {
    c.setMessageModel(MessageModel.BROADCASTING);
  }

  static void createTopic(DefaultMQAdminExt admin, String cluster, String topic, int queues) throws Exception {
    admin.createTopic(cluster, topic, queues);
  }
}
