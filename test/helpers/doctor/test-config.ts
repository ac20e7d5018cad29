/** A configuration of the host mail.example.net, for tests of checks. */

import { stringify } from 'smol-toml'
import type { Config } from '../../../src/base/config/complete.js'
import { parseConfig } from '../../../src/base/config/load.js'

export function testConfig(settings: Readonly<Record<string, Readonly<Record<string, unknown>>>>): Config {
  const { service, ...others } = settings
  const text = stringify({ service: { hostname: 'mail.example.net', data_dir: '/nowhere', ...service }, ...others })
  const loaded = parseConfig(text, null, { hostname: 'test', home: '/', isRoot: false, stateHome: undefined })
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}
