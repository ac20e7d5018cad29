// The configuration of a daemon that a script starts in its own process: all listeners on free ports of loopback.
import { stringify } from 'smol-toml'
import { parseConfig } from '../../dist/src/base/config/load.js'

/** `settings`: by section, as in the configuration file; they replace those given here. */
export function loopbackConfig(dataDir, settings = {}) {
  const { service, ...others } = settings
  const listen = ['127.0.0.1:0']
  const text = stringify({
    service: { hostname: 'mail.service.test', data_dir: dataDir, ...service },
    submission: { listen, listen_tls: listen },
    api: { listen },
    inbound: { listen },
    log: { level: 'silent' },
    ...others,
  })
  const loaded = parseConfig(text, 'none', { hostname: 'test', home: dataDir, isRoot: false, stateHome: undefined })
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}
