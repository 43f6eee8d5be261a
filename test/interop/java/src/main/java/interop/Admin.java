// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import java.util.List;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Runs mqadmin commands in one JVM: a line in is words split by blanks ('~' for a blank in a word), text comes out, then "@end". */
final class Admin {
  private static final String COMMAND = "mqadmin";

  private Admin() {}

  static void serve(Harness harness, PrintStream out) throws Exception {
    keepRunning();
    for (String line = harness.next(); line != null; line = harness.next()) {
      String[] words = line.trim().split(" +");
      for (int i = 0; i < words.length; i++) {
        words[i] = words[i].replace('~', ' ');
      }
      forgetCommands();
      ByteArrayOutputStream text = new ByteArrayOutputStream();
      PrintStream p = new PrintStream(text, true, StandardCharsets.UTF_8.name());
      System.setOut(p);
      System.setErr(p);
      Thread t = new Thread(() -> {
        try {
          MQAdminStartup.main0(words, null);
        } catch (SecurityException e) {
          p.println(e.getMessage());
        }
      }, COMMAND);
      t.setDaemon(true);
      t.start();
      t.join(30_000);
      if (t.isAlive()) {
        p.println("not ended within 30 s");
        t.interrupt();
      }
      out.println(text.toString(StandardCharsets.UTF_8.name()));
      harness.say("end");
    }
  }

  /** The tool keeps its command objects, some of which work only once: makes it create them anew. */
  private static void forgetCommands() throws Exception {
    for (Field f : MQAdminStartup.class.getDeclaredFields()) {
      if (List.class.isAssignableFrom(f.getType()) && Modifier.isStatic(f.getModifiers())) {
        f.setAccessible(true);
        ((List<?>) f.get(null)).clear();
      }
    }
  }

  /** Some commands of 4.x end the JVM: their thread may not. */
  @SuppressWarnings({"removal", "deprecation"})
  private static void keepRunning() {
    System.setSecurityManager(new SecurityManager() {
      @Override
      public void checkPermission(Permission p) {}

      @Override
      public void checkPermission(Permission p, Object context) {}

      @Override
      public void checkExit(int status) {
        if (Thread.currentThread().getName().equals(COMMAND)) {
          throw new SecurityException("exit " + status);
        }
      }
    });
  }
}
