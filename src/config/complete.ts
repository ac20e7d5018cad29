/**
 * From settings to the configuration that rooms are given: the defaults that depend on the
 * machine or on another key are filled in, paths are absolute, and all of it is frozen.
 *
 * Without `data_dir` the state lies in /var/lib/posthorn for root, and for everybody else in
 * $XDG_STATE_HOME/posthorn (~/.local/state/posthorn): a trial on a laptop needs no rights.
 * A relative path counts from the folder of the file that names it.
 */
import { isAbsolute, join, resolve } from 'node:path'
import { type Address, type DomainName, parseAddress, parseDomainName } from '../mail/address.js'
import type { Network } from '../platform/ip-address.js'
import { parseHostName } from './network-values.js'
import { builtInPlans, type Plans } from './plans.js'
import type { Settings } from './schema.js'

export interface Machine {
  readonly hostname: string
  readonly home: string
  readonly isRoot: boolean
  /** $XDG_STATE_HOME, where it is set. */
  readonly stateHome: string | undefined
}

type Frozen<T> = T extends string | Network | URL ? T : T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T

export interface ServiceConfig {
  readonly hostname: DomainName
  readonly data_dir: string
  readonly zone: DomainName
  /** What the MX records of domains that take mail in name. */
  readonly inbound_mx_host: DomainName
  readonly mail_from: Address
  /** Without a slash at its end. */
  readonly public_url: string
  readonly public_addresses: readonly string[]
}

/** null: no certificate configured, a self-signed one is made. */
export interface TlsConfig {
  readonly cert_file: string | null
  readonly key_file: string | null
}

export interface LimitsConfig {
  readonly default_plan: string
  readonly domain_emails_per_day: number
  /** Of the service as a whole. */
  readonly invitations_per_day: number
  /** What the operator's workspace may hold where its plan does not say. */
  readonly operator_inbound_bytes: number
  /** Those that are built in, too. */
  readonly plans: Plans
}

export interface Config extends Frozen<Omit<Settings, 'service' | 'tls' | 'limits'>> {
  readonly service: ServiceConfig
  readonly tls: TlsConfig
  readonly limits: LimitsConfig
}

/** `folder`: of the configuration file. */
export function completeConfig(settings: Settings, machine: Machine, folder: string): Config {
  const { service, tls, api, limits } = settings
  const hostname = service.hostname ?? parseHostName(machine.hostname) ?? parseDomainName('localhost')
  const zone = service.zone ?? hostname
  return deepFreeze({
    ...settings,
    service: {
      hostname,
      data_dir: service.data_dir === undefined ? defaultDataDir(machine) : resolve(folder, service.data_dir),
      zone,
      inbound_mx_host: service.inbound_mx_host ?? parseDomainName(`mx.${zone}`),
      mail_from: service.mail_from ?? parseAddress(`posthorn@${zone}`),
      public_url: service.public_url ?? `https://${hostname}`,
      public_addresses: service.public_addresses,
    },
    tls: {
      cert_file: tls.cert_file === '' ? null : resolve(folder, tls.cert_file),
      key_file: tls.key_file === '' ? null : resolve(folder, tls.key_file),
    },
    limits: { ...limits, plans: { ...builtInPlans, ...limits.plans } },
    api: {
      ...api,
      listen: api.listen.map((place) =>
        place.kind === 'unix' ? { ...place, path: resolve(folder, place.path) } : place,
      ),
    },
  })
}

function defaultDataDir({ home, isRoot, stateHome = '' }: Machine): string {
  if (isRoot) return '/var/lib/posthorn'
  return join(isAbsolute(stateHome) ? stateHome : join(home, '.local/state'), 'posthorn')
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze)
  return Object.freeze(value)
}
