/**
 * Completes settings to the configuration that rooms are given: defaults that depend on the machine or on another key
 * are filled in, paths are absolute, and the result is frozen.
 *
 * The default `data_dir` is /var/lib/posthorn for root, and $XDG_STATE_HOME/posthorn (~/.local/state/posthorn)
 * for other users, so that a trial needs no rights. A relative path counts from the folder of its file.
 */
import { isAbsolute, join, resolve } from 'node:path'
import { type Address, type DomainName, parseAddress, parseDomainName } from '../mail/address.js'
import type { Network } from '../platform/ip-address.js'
import { type ApiListenAddress, parseHostName } from './network-values.js'
import { builtInPlans, type Plans } from './plans.js'
import type { Settings } from './schema.js'
import { resolveSecretFile } from './secret-files.js'

export interface Machine {
  readonly hostname: string
  readonly home: string
  readonly isRoot: boolean
  /** $XDG_STATE_HOME, if it is set. */
  readonly stateHome: string | undefined
  /** $CREDENTIALS_DIRECTORY, if it is set. */
  readonly credentials?: string | undefined
}

type Frozen<T> = T extends string | Network | URL ? T : T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T

interface ServiceConfig {
  readonly hostname: DomainName
  readonly data_dir: string
  readonly zone: DomainName
  /** The host that the MX records of receiving domains name. */
  readonly inbound_mx_host: DomainName
  readonly mail_from: Address
  /** It has no trailing slash. */
  readonly public_url: string
  readonly public_addresses: readonly string[]
}

type AcmeSettings = Frozen<Settings['tls']['acme']>

interface AcmeConfig extends Omit<AcmeSettings, 'ca_file'> {
  /** Null if the authorities of the system are used. */
  readonly ca_file: string | null
}

/** The files are null if no certificate is configured; then a self-signed one is created. */
interface TlsConfig {
  readonly cert_file: string | null
  readonly key_file: string | null
  readonly acme: AcmeConfig
}

export interface LimitsConfig {
  readonly default_plan: string
  /** Who may make workspaces through the API: each owner of one, or the operator alone. */
  readonly create_workspaces: 'owners' | 'operator'
  readonly domain_emails_per_day: number
  /** Counted over the entire service. */
  readonly invitations_per_day: number
  /** Limit of the operator's workspace if its plan has none. */
  readonly operator_inbound_bytes: number
  /** Percent that the inbound mail of one owner may take, of that mail and the room on the disk together. */
  readonly inbound_disk_percent: number
  readonly breaker: Frozen<Settings['limits']['breaker']>
  /** The built-in plans are among them. */
  readonly plans: Plans
}

type SmsSettings = Frozen<Settings['sms']>

interface SmsConfig extends Omit<SmsSettings, 'smpp'> {
  /** `ca_file` is null if the authorities of the system are used. */
  readonly smpp: Omit<SmsSettings['smpp'], 'ca_file'> & { readonly ca_file: string | null }
}

/** `backup_folder` is null if no folder is watched, as with PostgreSQL, of which `posthorn backup` makes no copies. */
interface DoctorConfig extends Omit<Frozen<Settings['doctor']>, 'backup_folder'> {
  readonly backup_folder: string | null
}

export interface Config extends Frozen<Omit<Settings, 'service' | 'tls' | 'limits' | 'sms' | 'doctor'>> {
  readonly service: ServiceConfig
  readonly tls: TlsConfig
  readonly limits: LimitsConfig
  readonly sms: SmsConfig
  readonly doctor: DoctorConfig
}

/** In place of the name of a node: containers with one configuration have names of their own as machines. */
const MACHINE_NAME = '$HOSTNAME'

/** The name of a host of the zone. It is the zone itself if that begins with the label, as `mail.example.net` does. */
export function hostInZone(label: string, zone: string): string {
  return zone.startsWith(`${label}.`) ? zone : `${label}.${zone}`
}

/** `folder` is the folder of the configuration file. */
export function completeConfig(settings: Settings, machine: Machine, folder: string): Config {
  const { service, tls, api, limits, sms, standby, storage, node, doctor } = settings
  const { credentials } = machine
  const hostname = service.hostname ?? nameOfMachine(machine)
  const zone = service.zone ?? hostname
  return deepFreeze({
    ...settings,
    service: {
      hostname,
      data_dir: dataDirOf(settings, machine, folder),
      zone,
      inbound_mx_host: service.inbound_mx_host ?? parseDomainName(hostInZone('mx', zone)),
      mail_from: service.mail_from ?? parseAddress(`posthorn@${zone}`),
      public_url: service.public_url ?? defaultPublicUrl(hostname, api.listen),
      public_addresses: service.public_addresses,
    },
    tls: {
      cert_file: tls.cert_file === '' ? null : resolve(folder, tls.cert_file),
      key_file: tls.key_file === '' ? null : resolve(folder, tls.key_file),
      acme: { ...tls.acme, ca_file: tls.acme.ca_file === '' ? null : resolve(folder, tls.acme.ca_file) },
    },
    limits: { ...limits, plans: { ...builtInPlans, ...limits.plans } },
    sms: {
      ...sms,
      smpp: { ...sms.smpp, ca_file: sms.smpp.ca_file === '' ? null : resolve(folder, sms.smpp.ca_file) },
    },
    doctor: {
      ...doctor,
      backup_folder: doctor.backup_folder === '' || storage.url !== '' ? null : resolve(folder, doctor.backup_folder),
    },
    standby: { ...standby, folder: standby.folder === '' ? '' : resolve(folder, standby.folder) },
    storage: {
      ...storage,
      password_file:
        storage.password_file === '' ? '' : resolveSecretFile(storage.password_file, { folder, credentials }),
      ca_file: storage.ca_file === '' ? '' : resolve(folder, storage.ca_file),
    },
    node: { name: node.name === MACHINE_NAME ? nameOfMachine(machine) : node.name || hostname },
    api: {
      ...api,
      listen: api.listen.map((address) =>
        address.kind === 'unix' ? { ...address, path: resolve(folder, address.path) } : address,
      ),
    },
  })
}

function nameOfMachine({ hostname }: Machine): DomainName {
  return parseHostName(hostname) ?? parseDomainName('localhost')
}

/** The URL has the port that we listen on with TLS, so that links in mail work where port 443 leads nowhere. */
function defaultPublicUrl(hostname: string, listen: readonly ApiListenAddress[]): string {
  const [first] = listen
  const isProxied = listen.some(({ kind }) => kind !== 'tls')
  // 0 takes any free port.
  const port = isProxied || first?.kind !== 'tls' || first.port === 0 ? 443 : first.port
  return `https://${hostname}${port === 443 ? '' : `:${port}`}`
}

export function dataDirOf({ service }: Settings, machine: Machine, folder: string): string {
  return service.data_dir === undefined ? defaultDataDir(machine) : resolve(folder, service.data_dir)
}

function defaultDataDir({ home, isRoot, stateHome = '' }: Machine): string {
  if (isRoot) return '/var/lib/posthorn'
  return join(isAbsolute(stateHome) ? stateHome : join(home, '.local/state'), 'posthorn')
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze)
  return Object.freeze(value)
}
