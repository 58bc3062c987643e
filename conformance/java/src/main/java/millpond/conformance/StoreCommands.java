package millpond.conformance;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;

/**
 * The processor `command`: the value of a record says what to do with a store, for the key of the
 * record. test/conformance/store-commands.ts says which commands there are.
 */
final class StoreCommands {
  private StoreCommands() {}

  /** Runs one, and shows what the store answers. */
  @SuppressWarnings("unchecked")
  static String run(StateStore store, Object key, String command, long timestamp) {
    String[] words = command.split(" ");
    if (store instanceof SessionStore<?, ?> sessions) {
      return session((SessionStore<Object, Object>) sessions, key, words);
    }
    if (store instanceof TimestampedWindowStore<?, ?> windows) {
      var stamped = (TimestampedWindowStore<Object, Object>) windows;
      if (words[0].equals("put")) {
        stamped.put(key, ValueAndTimestamp.make(value(words[2]), timestamp), Long.parseLong(words[1]));
        return "done";
      }
      return window((WindowStore<Object, Object>) (WindowStore<?, ?>) stamped, key, words);
    }
    if (store instanceof WindowStore<?, ?> windows) {
      return window((WindowStore<Object, Object>) windows, key, words);
    }
    if (store instanceof VersionedKeyValueStore<?, ?> versions) {
      return version((VersionedKeyValueStore<Object, Object>) versions, key, words);
    }
    throw new InvalidCase("there are no commands for such a store");
  }

  private static Instant time(String word) {
    return Instant.ofEpochMilli(word.equals("*") ? Long.MAX_VALUE : Long.parseLong(word));
  }

  private static Instant lowest(String word) {
    return word.equals("*") ? Instant.ofEpochMilli(0) : time(word);
  }

  private static Object value(String word) {
    return word.equals("-") ? null : word;
  }

  private static Object key(String word) {
    return word.equals("*") ? null : word;
  }

  private static boolean isBack(String[] words) {
    return words[words.length - 1].equals("back");
  }

  private static String shown(Object value) {
    return value instanceof ValueAndTimestamp<?> stamped
        ? Library.text(stamped.value()) + "@" + stamped.timestamp()
        : Library.text(value);
  }

  private static String rows(KeyValueIterator<Windowed<Object>, Object> found) {
    List<String> rows = new ArrayList<>();
    try (found) {
      while (found.hasNext()) {
        KeyValue<Windowed<Object>, Object> row = found.next();
        rows.add(Library.text(row.key.key()) + "[" + row.key.window().start() + "/"
            + row.key.window().end() + "]=" + shown(row.value));
      }
    }
    return String.join(" ", rows);
  }

  private static String window(WindowStore<Object, Object> store, Object key, String[] words) {
    boolean isBack = isBack(words);
    switch (words[0]) {
      case "put":
        store.put(key, value(words[2]), Long.parseLong(words[1]));
        return "done";
      case "fetch":
        return shown(store.fetch(key, Long.parseLong(words[1])));
      case "of": {
        List<String> rows = new ArrayList<>();
        Instant from = lowest(words[1]);
        Instant to = time(words[2]);
        try (WindowStoreIterator<Object> found =
            isBack ? store.backwardFetch(key, from, to) : store.fetch(key, from, to)) {
          while (found.hasNext()) {
            KeyValue<Long, Object> row = found.next();
            rows.add(row.key + "=" + shown(row.value));
          }
        }
        return String.join(" ", rows);
      }
      case "range":
        return rows(range(store, words, isBack));
      default:
        throw new InvalidCase("a window store has no command " + words[0]);
    }
  }

  private static KeyValueIterator<Windowed<Object>, Object> range(
      WindowStore<Object, Object> store, String[] words, boolean isBack) {
    Object from = key(words[1]);
    Object to = key(words[2]);
    Instant timeFrom = lowest(words[3]);
    Instant timeTo = time(words[4]);
    if (from != null || to != null) {
      return isBack
          ? store.backwardFetch(from, to, timeFrom, timeTo)
          : store.fetch(from, to, timeFrom, timeTo);
    }
    if (words[3].equals("*") && words[4].equals("*")) {
      return isBack ? store.backwardAll() : store.all();
    }
    return isBack ? store.backwardFetchAll(timeFrom, timeTo) : store.fetchAll(timeFrom, timeTo);
  }

  private static Windowed<Object> session(Object key, String[] words) {
    return new Windowed<>(
        key, new SessionWindow(Long.parseLong(words[1]), Long.parseLong(words[2])));
  }

  private static String session(SessionStore<Object, Object> store, Object key, String[] words) {
    boolean isBack = isBack(words);
    switch (words[0]) {
      case "put":
        store.put(session(key, words), value(words[3]));
        return "done";
      case "remove":
        store.remove(session(key, words));
        return "done";
      case "session":
        return shown(store.fetchSession(key, time(words[1]), time(words[2])));
      case "of":
        return rows(isBack
            ? store.backwardFindSessions(key, lowest(words[1]), time(words[2]))
            : store.findSessions(key, lowest(words[1]), time(words[2])));
      case "range": {
        Object from = key(words[1]);
        Object to = key(words[2]);
        Instant earliestEnd = lowest(words[3]);
        Instant latestStart = time(words[4]);
        return rows(isBack
            ? store.backwardFindSessions(from, to, earliestEnd, latestStart)
            : store.findSessions(from, to, earliestEnd, latestStart));
      }
      default:
        throw new InvalidCase("a session store has no command " + words[0]);
    }
  }

  private static String version(
      VersionedKeyValueStore<Object, Object> store, Object key, String[] words) {
    switch (words[0]) {
      case "put": {
        long validTo = store.put(key, value(words[2]), Long.parseLong(words[1]));
        if (validTo == VersionedKeyValueStore.PUT_RETURN_CODE_NOT_PUT) return "not-put";
        boolean isLatest = validTo == VersionedKeyValueStore.PUT_RETURN_CODE_VALID_TO_UNDEFINED;
        return isLatest ? "latest" : String.valueOf(validTo);
      }
      case "delete":
        return version(store.delete(key, Long.parseLong(words[1])));
      case "get":
        return version(words.length == 1 ? store.get(key) : store.get(key, Long.parseLong(words[1])));
      default:
        throw new InvalidCase("a versioned store has no command " + words[0]);
    }
  }

  private static String version(VersionedRecord<Object> found) {
    return found == null ? Library.text(null) : Library.text(found.value()) + "@" + found.timestamp();
  }
}
