/** Lists the settings of the schema. */
import { eachSetting } from '../../src/base/config/effective-values.js'
import { keyOf } from '../../src/base/config/problems.js'

/** The names of all settings, such as `tls.acme.email`. */
export function listSettings(): readonly string[] {
  return [...eachSetting()].map(({ path }) => keyOf(path))
}
