package millpond.peers;

import java.util.HashMap;
import java.util.Map;

/** What the runner asks for: arguments of the form name=value. */
record Settings(Map<String, String> values) {
  static Settings of(String[] args) {
    Map<String, String> values = new HashMap<>();
    for (String argument : args) {
      int equals = argument.indexOf('=');
      values.put(argument.substring(0, equals), argument.substring(equals + 1));
    }
    return new Settings(values);
  }

  String get(String name) {
    String value = values.get(name);
    if (value == null) throw new IllegalArgumentException("there is no argument " + name);
    return value;
  }
}
