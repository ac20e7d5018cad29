/**
 * The configuration that is in force. A reload replaces it in one assignment.
 *
 * Rooms hold the function that reads it (`ReadSettings`) and call it at each use. Settings that are fixed until the
 * next start have a separate type (`StartSettings`), so that no room keeps a value that a reload may change.
 */
import type { Config } from './complete.js'

/** Reads the settings in force: those that a reload applies come from the last reload, all others from the start. */
export type ReadSettings = () => Config

/** The settings that only a restart changes (`settingsByEffect.restarted`). */
export interface StartSettings extends Pick<Config, 'service' | 'dns' | 'metrics' | 'standby' | 'storage' | 'node'> {
  readonly tls: Pick<Config['tls'], 'acme'>
  readonly api: Pick<Config['api'], 'listen' | 'compatible'>
  readonly submission: Pick<Config['submission'], 'listen' | 'listen_tls'>
  readonly inbound: Pick<Config['inbound'], 'listen' | 'mta_sts' | 'mta_sts_max_age'>
  readonly ui: Pick<Config['ui'], 'enabled'>
  readonly sms: Pick<Config['sms'], 'provider' | 'smpp'>
  readonly retention: Pick<Config['retention'], 'exports'>
  readonly log: Pick<Config['log'], 'format'>
}

/** Names of settings such as `inbound.max_size`, in the order of the sections. */
export interface ReloadedSettings {
  /** Settings that are in force from now on. */
  readonly applied: readonly string[]
  /** Different from what the daemon was started with, and in force after its next start. */
  readonly pending: readonly string[]
}

/** Settings that a reload applies. A section stands for all of its settings. */
const reloaded: readonly string[] = [
  ...['tls.cert_file', 'tls.key_file'],
  ...settingsOf('api', ['trusted_proxies', 'max_connections']),
  ...settingsOf('api', ['max_connections_per_address', 'max_connections_per_network']),
  ...settingsOf('submission', ['allow_plaintext_loopback', 'trusted', 'max_connections', 'max_recipients', 'max_size']),
  ...settingsOf('submission', ['max_connections_per_address', 'max_connections_per_network', 'max_line_length']),
  ...settingsOf('submission', ['auth_timeout', 'min_data_rate', 'min_data_rate_patience', 'session_deadline']),
  ...settingsOf('inbound', [
    'proxies',
    'max_connections',
    'max_connections_per_address',
    'max_connections_per_network',
  ]),
  ...settingsOf('inbound', ['connections_per_minute', 'messages_per_minute', 'bytes_per_minute']),
  ...settingsOf('inbound', ['max_size', 'max_recipients', 'tarpit']),
  ...settingsOf('inbound', ['min_data_rate', 'min_data_rate_patience', 'session_deadline', 'early_talkers', 'dmarc']),
  ...settingsOf('inbound', ['max_refused_recipients', 'dnsbl', 'refuse_listed_from', 'dnswl', 'greylisting']),
  ...settingsOf('spam', ['suspicious_score', 'spam_score', 'rspamd_url', 'rspamd_url_file']),
  ...settingsOf('outbound', ['port', 'source_addresses', 'allowed_private_networks', 'routes', 'routes_file']),
  ...settingsOf('outbound', ['sources', 'pool_rules', 'warm_up_plan', 'domain_warm_up']),
  ...settingsOf('outbound', ['warm_up_route', 'warm_up_route_file']),
  ...settingsOf('outbound', ['max_connections', 'max_connections_per_host', 'retry_schedule', 'expire_after']),
  ...settingsOf('outbound', ['delay_notice_after', 'forward_bounces', 'dane', 'mta_sts', 'tls_reports']),
  ...settingsOf('webhooks', ['retry_schedule', 'timeout', 'allowed_private_networks']),
  ...settingsOf('retention', ['messages', 'events', 'links', 'audit', 'reports', 'files']),
  ...settingsOf('limits', ['default_plan', 'create_workspaces', 'domain_emails_per_day']),
  ...settingsOf('limits', ['invitations_per_day', 'operator_inbound_bytes']),
  'limits.inbound_disk_percent',
  ...['limits.plans', 'limits.breaker'],
  ...settingsOf('ui', ['session_idle', 'session_max']),
  ...['sms.allowed_countries', 'sms.limits', 'sms.http', 'sms.sender'],
  ...settingsOf('log', ['level', 'levels', 'hash_local_parts']),
  'doctor',
]

/** All other settings: what is opened once at the start, such as listeners, or cannot change while it is in use. */
const restarted: readonly string[] = [
  ...['service', 'tls.acme', 'dns', 'metrics', 'standby', 'storage', 'node', 'sms.smpp'],
  ...['api.listen', 'api.compatible', 'submission.listen', 'submission.listen_tls', 'inbound.listen'],
  ...['inbound.mta_sts', 'inbound.mta_sts_max_age'],
  ...['ui.enabled', 'sms.provider', 'retention.exports', 'log.format'],
]

/** Each setting is in one of the two. */
export const settingsByEffect = { reloaded, restarted } as const

const reloadable: ReadonlySet<string> = new Set(reloaded)

function settingsOf(section: string, keys: readonly string[]): readonly string[] {
  return keys.map((key) => `${section}.${key}`)
}

/** Tables whose keys are data of the operator: such a table is one setting. */
export const tables: ReadonlySet<string> = new Set(['outbound.routes', 'limits.plans', 'log.levels'])

export class LiveConfig {
  private loaded: Config
  private inForce: Config

  constructor(private readonly started: Config) {
    this.loaded = started
    this.inForce = started
  }

  readonly settings: ReadSettings = () => this.inForce

  /** Puts a loaded configuration in force. */
  apply(next: Config): ReloadedSettings {
    const before = this.loaded
    this.loaded = next
    this.inForce = merge(this.started, next)
    return {
      applied: listDifferences(before, next).filter(isReloadable),
      pending: listDifferences(this.started, next).filter((name) => !isReloadable(name)),
    }
  }
}

/** The setting itself, or a section that contains it, is among those that a reload applies. */
export function isReloadable(name: string): boolean {
  const parts = name.split('.')
  return parts.some((_part, at) => reloadable.has(parts.slice(0, at + 1).join('.')))
}

/** Takes from `next` what a reload applies, and all else as it was at the start. */
function merge<Section extends object>(started: Section, next: Section, path = ''): Section {
  const merged = { ...started, ...next }
  for (const key of Object.keys(merged)) {
    const name = path === '' ? key : `${path}.${key}`
    const [before, now]: unknown[] = [Reflect.get(started, key), Reflect.get(next, key)]
    const isWhole = !(isSection(before, name) && isSection(now, name))
    const value = isWhole ? (isReloadable(name) ? now : before) : merge(before, now, name)
    Reflect.set(merged, key, value)
  }
  return Object.freeze(merged)
}

function isSection(value: unknown, name: string): value is object {
  return isPlainObject(value) && !tables.has(name)
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function listDifferences(before: object, after: object, path = ''): readonly string[] {
  return Object.keys({ ...before, ...after }).flatMap((key) => {
    const name = path === '' ? key : `${path}.${key}`
    const [old, now]: unknown[] = [before, after].map((section) => Reflect.get(section, key))
    if (isSection(old, name) && isSection(now, name)) return listDifferences(old, now, name)
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [name]
  })
}
