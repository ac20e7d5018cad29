/** The client of the rspamd that the configuration names: another one once a reload has changed its URL. */
import type { Config } from '../../../base/config/complete.js'
import { followSetting } from '../../../base/config/follow-setting.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import { RspamdClient } from './rspamd.js'

interface ConfiguredDeps {
  readonly settings: () => Pick<Config['spam'], 'rspamd_url'>
  readonly clock: Clock
  readonly log: Log
}

export class ConfiguredRspamd {
  private readonly findClient: () => RspamdClient | null

  constructor({ settings, clock, log }: ConfiguredDeps) {
    this.findClient = followSetting(
      () => settings().rspamd_url,
      (url) => (url === null ? null : new RspamdClient({ url, clock, log })),
    )
  }

  /** Null if none is configured. */
  get client(): Pick<RspamdClient, 'check'> | null {
    return this.findClient()
  }
}
