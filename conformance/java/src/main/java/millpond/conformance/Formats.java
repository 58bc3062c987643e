package millpond.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.WindowedSerdes;

/** Serdes by their names in cases, and the values that cases write in JSON. */
final class Formats {
  private static final HexFormat HEX = HexFormat.of();

  private Formats() {}

  /** Null for an absent name: Kafka Streams then takes what it inherits. */
  static Serde<Object> serde(JsonNode name) {
    return name == null ? null : serde(name.asText());
  }

  /** Where a serde must be stated, `string` need not be. */
  static Serde<Object> serde(JsonNode step, String part) {
    return serde(name(step, part));
  }

  static String name(JsonNode step, String part) {
    return step.path(part).asText("string");
  }

  @SuppressWarnings("unchecked")
  private static Serde<Object> serde(String name) {
    return (Serde<Object>) (Serde<?>) named(name);
  }

  private static Serde<?> named(String name) {
    return switch (name) {
      case "string" -> Serdes.String();
      case "short" -> Serdes.Short();
      case "int" -> Serdes.Integer();
      case "long" -> Serdes.Long();
      case "float" -> Serdes.Float();
      case "double" -> Serdes.Double();
      case "boolean" -> Serdes.Boolean();
      case "bytes" -> Serdes.ByteArray();
      case "uuid" -> Serdes.UUID();
      default -> {
        if (name.startsWith("picky:")) yield Failing.picky(name.substring("picky:".length()));
        if (name.startsWith("windowed:")) yield windowed(name.split(":", 3));
        if (name.startsWith("session:")) {
          yield new WindowedSerdes.SessionWindowedSerde<>(named(name.substring("session:".length())));
        }
        if (!name.startsWith("list:")) throw new InvalidCase("there is no serde " + name);
        yield list(named(name.substring("list:".length())));
      }
    };
  }

  /** `windowed:SIZE:SERDE`, of keys in time windows or sliding ones; without a size the windows are unlimited. */
  private static Serde<?> windowed(String[] parts) {
    long size = parts[1].isEmpty() ? Long.MAX_VALUE : Long.parseLong(parts[1]);
    return new WindowedSerdes.TimeWindowedSerde<>(named(parts[2]), size);
  }

  private static <T> Serde<List<T>> list(Serde<T> inner) {
    return Serdes.ListSerde(ArrayList.class, inner);
  }

  /** The bytes of a key or value in a script: what its serde makes of it, or {"hex": "…"} as it is. */
  static byte[] bytes(JsonNode json, String topic, String serde) {
    if (json == null || json.isNull()) return null;
    if (json.has("hex")) return HEX.parseHex(json.get("hex").asText());
    // A picky serde would not write what it is not to read.
    String written = serde.startsWith("picky:") ? "string" : serde;
    return serde(written).serializer().serialize(topic, value(json, written));
  }

  private static Object value(JsonNode json, String serde) {
    return switch (serde) {
      case "string" -> json.asText();
      case "short" -> (short) json.asInt();
      case "int" -> json.asInt();
      case "long" -> json.asLong();
      case "float" -> (float) json.asDouble();
      case "double" -> json.asDouble();
      case "boolean" -> json.asBoolean();
      case "uuid" -> UUID.fromString(json.asText());
      default -> {
        if (!json.isArray()) throw new InvalidCase("no value of " + serde + ": " + json);
        List<Object> items = new ArrayList<>();
        String inner = serde.substring("list:".length());
        for (JsonNode item : json) items.add(item.isNull() ? null : value(item, inner));
        yield items;
      }
    };
  }

  static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String hex(byte[] bytes) {
    return bytes == null ? null : HEX.formatHex(bytes);
  }
}
