// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Makes clients with unique names against one name server list and closes them all at the end. */
final class Clients implements AutoCloseable {
  private final String nameServers;
  private final String run = Long.toString(System.nanoTime(), 36);
  private final AtomicInteger count = new AtomicInteger();
  private final List<Runnable> closers = new ArrayList<>();

  Clients(String nameServers) {
    this.nameServers = nameServers;
  }

  String name(String kind) {
    return kind + "_" + run + "_" + count.incrementAndGet();
  }

  DefaultMQProducer producer() throws Exception {
    return start(new DefaultMQProducer(name("producer")));
  }

  DefaultMQProducer tracedProducer(String group) throws Exception {
    return start(new DefaultMQProducer(group, true, null));
  }

  private DefaultMQProducer start(DefaultMQProducer p) throws Exception {
    p.setNamesrvAddr(nameServers);
    p.setInstanceName(name("instance"));
    p.setSendMsgTimeout(10_000);
    p.start();
    closers.add(p::shutdown);
    return p;
  }

  DefaultMQPushConsumer push(String group) {
    return prepare(new DefaultMQPushConsumer(group));
  }

  DefaultMQPushConsumer tracedPush(String group) {
    return prepare(new DefaultMQPushConsumer(group, true, null));
  }

  private DefaultMQPushConsumer prepare(DefaultMQPushConsumer c) {
    c.setNamesrvAddr(nameServers);
    c.setInstanceName(name("instance"));
    c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
    closers.add(c::shutdown);
    return c;
  }

  DefaultLitePullConsumer litePull(String group) {
    DefaultLitePullConsumer c = new DefaultLitePullConsumer(group);
    c.setNamesrvAddr(nameServers);
    c.setInstanceName(name("instance"));
    c.setAutoCommit(false);
    closers.add(c::shutdown);
    return c;
  }

  /** A topic with this many queues on every master, routable when this returns. */
  String topic(int queues) throws Exception {
    String t = name("topic");
    DefaultMQAdminExt admin = new DefaultMQAdminExt();
    admin.setNamesrvAddr(nameServers);
    admin.setInstanceName(name("instance"));
    admin.start();
    try {
      Generation.createTopic(admin, "DefaultCluster", t, queues);
      Wait.until(() -> "route of " + t, 20, () -> {
        try {
          return !admin.examineTopicRouteInfo(t).getQueueDatas().isEmpty();
        } catch (Exception e) {
          return false;
        }
      });
    } finally {
      admin.shutdown();
    }
    return t;
  }

  /** Collects what a push consumer gets. */
  static List<MessageExt> collect(DefaultMQPushConsumer c) {
    List<MessageExt> got = Collections.synchronizedList(new ArrayList<>());
    c.registerMessageListener((MessageListenerConcurrently) (ms, x) -> {
      got.addAll(ms);
      return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    });
    return got;
  }

  static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  static String text(MessageExt m) {
    return new String(m.getBody(), StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    for (Runnable r : closers) {
      r.run();
    }
  }
}
