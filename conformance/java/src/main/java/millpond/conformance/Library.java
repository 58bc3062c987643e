package millpond.conformance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.apache.kafka.streams.kstream.Window;
import org.apache.kafka.streams.kstream.Windowed;

/**
 * The functions that cases name, as `name` or `name:argument`. test/conformance/function-library.ts has
 * the same ones; docs/internals/conformance.md lists them. What reads a value gives null for null, unless the
 * list says otherwise.
 */
final class Library {
  /** A mapper, selector, predicate or initializer. */
  interface Function {
    Object apply(Object value, Object key);

    default boolean test(Object value, Object key) {
      return (Boolean) apply(value, key);
    }

    default List<Object> list(Object value, Object key) {
      @SuppressWarnings("unchecked")
      List<Object> items = (List<Object>) apply(value, key);
      return items;
    }
  }

  /** A reducer or aggregator; null deletes. */
  interface Fold {
    Object apply(Object aggregate, Object value, Object key);
  }

  /** Of a join; null where there is no other value. The key is null where Kafka Streams tells none. */
  interface Joiner {
    Object apply(Object left, Object right, Object key);
  }

  private Library() {}

  static Function function(String spec) {
    String name = name(spec);
    String argument = argument(spec);
    return switch (name) {
      case "value" -> (value, key) -> value;
      case "key" -> (value, key) -> key;
      case "null" -> (value, key) -> null;
      case "constant" -> (value, key) -> argument;
      case "number" -> constant(Long.parseLong(argument));
      case "text" -> (value, key) -> value == null ? null : text(value);
      case "show" -> (value, key) -> text(key) + "=" + text(value);
      case "upper" -> (value, key) -> value == null ? null : text(value).toUpperCase(Locale.ROOT);
      case "append" -> (value, key) -> value == null ? null : text(value) + argument;
      case "prefix" -> (value, key) -> value == null ? null : prefix(value, Integer.parseInt(argument));
      case "at" -> (value, key) -> value == null ? null : at(value, Integer.parseInt(argument));
      case "key-at" -> (value, key) -> key == null ? null : at(key, Integer.parseInt(argument));
      case "length" -> (value, key) -> value == null ? null : (long) text(value).length();
      case "parse-int" -> (value, key) -> number(value);
      case "add" -> (value, key) -> sum(number(value), Long.parseLong(argument));
      case "mod" -> (value, key) -> modulo(value, Long.parseLong(argument));
      case "quarter" -> (value, key) -> number(value) == null ? null : modulo(value, 1000) / 4.0;
      case "null-when" -> (value, key) -> text(value).equals(argument) ? null : value;
      // Predicates.
      case "all" -> (value, key) -> true;
      case "none" -> (value, key) -> false;
      case "is-null" -> (value, key) -> value == null;
      case "not-null" -> (value, key) -> value != null;
      case "has-key" -> (value, key) -> key != null;
      case "even" -> (value, key) -> number(value) != null && modulo(value, 2) == 0;
      case "longer-than" ->
          (value, key) -> value != null && text(value).length() > Integer.parseInt(argument);
      case "starts-with" -> (value, key) -> value != null && text(value).startsWith(argument);
      case "equals" -> (value, key) -> text(value).equals(argument);
      // Lists.
      case "words" -> (value, key) -> words(value);
      case "repeat" -> (value, key) -> Collections.nCopies(Integer.parseInt(argument), value);
      case "and-null" -> (value, key) -> Arrays.asList(value, null);
      // Any of these, with a text that it fails on.
      case "fail-on" -> {
        Function given = function(inner(argument));
        yield (value, key) -> {
          failOn(failing(argument), value);
          return given.apply(value, key);
        };
      }
      default -> throw new InvalidCase("there is no function " + spec);
    };
  }

  static Fold fold(String spec) {
    String name = name(spec);
    String argument = argument(spec);
    return switch (name) {
      case "first" -> (aggregate, value, key) -> aggregate;
      case "last" -> (aggregate, value, key) -> value;
      case "nothing" -> (aggregate, value, key) -> null;
      case "count" -> (aggregate, value, key) -> sum(number(aggregate), 1L);
      case "sum" -> (aggregate, value, key) -> plus(aggregate, value);
      case "minus" -> (aggregate, value, key) -> {
        Number number = number(value);
        return number == null ? aggregate : plus(aggregate, negative(number));
      };
      case "append" -> (aggregate, value, key) -> text(aggregate) + text(value);
      case "erase" -> (aggregate, value, key) -> text(aggregate).replace(text(value), "");
      case "sum-until" -> (aggregate, value, key) -> {
        Object sum = plus(aggregate, value);
        return ((Number) sum).doubleValue() >= Long.parseLong(argument) ? null : sum;
      };
      case "concat" -> (aggregate, value, key) -> text(aggregate) + "+" + text(value);
      case "concat-until" -> (aggregate, value, key) -> {
        String all = text(aggregate) + "+" + text(value);
        return all.length() > Integer.parseInt(argument) ? null : all;
      };
      case "concat-keyed" -> (aggregate, value, key) -> text(aggregate) + "," + text(key) + text(value);
      case "longest" -> (aggregate, value, key) ->
          text(value).length() > text(aggregate).length() ? value : aggregate;
      case "null-on" -> (aggregate, value, key) ->
          text(value).equals(argument) ? null : text(aggregate) + "+" + text(value);
      case "fail-on" -> {
        Fold given = fold(inner(argument));
        yield (aggregate, value, key) -> {
          failOn(failing(argument), value);
          return given.apply(aggregate, value, key);
        };
      }
      default -> throw new InvalidCase("there is no fold " + spec);
    };
  }

  static Joiner joiner(String spec) {
    String argument = argument(spec);
    return switch (name(spec)) {
      case "left" -> (left, right, key) -> left;
      case "right" -> (left, right, key) -> right;
      case "neither" -> (left, right, key) -> null;
      case "pair" -> (left, right, key) -> text(left) + argument + text(right);
      case "keyed-pair" -> (left, right, key) -> text(key) + ":" + text(left) + argument + text(right);
      case "no-pair-of" -> (left, right, key) ->
          text(left).equals(argument) ? null : text(left) + "-" + text(right);
      case "fail-on" -> {
        Joiner given = joiner(inner(argument));
        yield (left, right, key) -> {
          failOn(failing(argument), left);
          return given.apply(left, right, key);
        };
      }
      default -> throw new InvalidCase("there is no joiner " + spec);
    };
  }

  /** Throws unless there is a function, fold or joiner of that name. */
  static void check(String spec) {
    try {
      function(spec);
    } catch (InvalidCase noFunction) {
      try {
        fold(spec);
      } catch (InvalidCase noFold) {
        joiner(spec);
      }
    }
  }

  static String name(String spec) {
    int colon = spec.indexOf(':');
    return colon < 0 ? spec : spec.substring(0, colon);
  }

  static String argument(String spec) {
    return spec.substring(Math.min(spec.length(), name(spec).length() + 1));
  }

  /** Of `TEXT,SPEC`: what fails, and what is done else. */
  static String failing(String argument) {
    return argument.substring(0, Math.max(0, argument.indexOf(',')));
  }

  static String inner(String argument) {
    return argument.substring(argument.indexOf(',') + 1);
  }

  /** Throws on that text. */
  static void failOn(String text, Object value) {
    if (text(value).equals(text)) throw new IllegalStateException("failed on " + text);
  }

  private static Function constant(Object constant) {
    return (value, key) -> constant;
  }

  /** How every function sees a value as text: numbers without a fraction have no point, bytes are hex. */
  static String text(Object value) {
    if (value instanceof byte[] bytes) return Formats.hex(bytes);
    if (value instanceof Float || value instanceof Double) {
      double number = ((Number) value).doubleValue();
      return number == Math.rint(number) && !Double.isInfinite(number)
          ? String.valueOf((long) number)
          : String.valueOf(number);
    }
    if (value instanceof Windowed<?> windowed) {
      Window window = windowed.window();
      return "[" + text(windowed.key()) + "@" + window.start() + "/" + window.end() + "]";
    }
    if (value instanceof List<?> list) {
      return "[" + String.join(",", list.stream().map(Library::text).toList()) + "]";
    }
    return String.valueOf(value);
  }

  /** A number as it is, text that is a whole number as a Long, all else null. */
  private static Number number(Object value) {
    if (value instanceof Number number) return number;
    String text = text(value);
    return text.matches("-?\\d{1,15}") ? Long.valueOf(text) : null;
  }

  private static boolean isFraction(Number number) {
    return number instanceof Double || number instanceof Float;
  }

  private static Number sum(Number left, Number right) {
    if (left == null || right == null) return null;
    if (isFraction(left) || isFraction(right)) return left.doubleValue() + right.doubleValue();
    return left.longValue() + right.longValue();
  }

  /** The aggregate stays when the value is no number. */
  private static Object plus(Object aggregate, Object value) {
    Number sum = sum(number(aggregate), number(value));
    return sum == null ? aggregate : sum;
  }

  private static Long modulo(Object value, long divisor) {
    Number number = number(value);
    return number == null ? null : Math.floorMod(number.longValue(), divisor);
  }

  private static Number negative(Number number) {
    if (isFraction(number)) return -number.doubleValue();
    return -number.longValue();
  }

  /** The letter at that place; null when the text is shorter. */
  private static String at(Object value, int index) {
    String text = text(value);
    return index < text.length() ? text.substring(index, index + 1) : null;
  }

  private static String prefix(Object value, int length) {
    String text = text(value);
    return text.substring(0, Math.min(length, text.length()));
  }

  /** Empty for null. */
  private static List<Object> words(Object value) {
    List<Object> words = new ArrayList<>();
    if (value == null) return words;
    for (String word : text(value).split(" ")) if (!word.isEmpty()) words.add(word);
    return words;
  }
}
