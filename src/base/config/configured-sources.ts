/** All source addresses of the configuration, however they are written. */
import type { Config } from './complete.js'
import { DEFAULT_POOL } from './source-schema.js'

export interface ConfiguredSource {
  readonly address: string
  /** The name in EHLO. Null if it is `service.hostname`. */
  readonly hello: string | null
  readonly pool: string
  readonly isWarming: boolean
}

export function listConfiguredSources({
  source_addresses,
  sources,
}: Pick<Config['outbound'], 'source_addresses' | 'sources'>): readonly ConfiguredSource[] {
  return [
    ...source_addresses.map((address) => ({ address, hello: null, pool: DEFAULT_POOL, isWarming: false })),
    ...sources.map(({ address, hello = null, pool, warm_up }) => ({ address, hello, pool, isWarming: warm_up })),
  ]
}
