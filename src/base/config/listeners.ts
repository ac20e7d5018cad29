/** The listeners that a configuration has, by the keys that name their addresses. */
import { isLoopback } from '../platform/ip-address.js'
import type { ApiListenAddress, ListenAddress } from './network-values.js'

type ListenerAddress = ListenAddress | ApiListenAddress

interface Listener {
  /** The key, such as `api.listen[0]`. */
  readonly key: string
  readonly address: ListenerAddress
}

type Addresses<Key extends string> = Readonly<Record<Key, readonly ListenAddress[]>>

/** The part of the settings that has addresses. */
interface ListenerSettings {
  readonly api: { readonly listen: readonly ApiListenAddress[] }
  readonly submission: Addresses<'listen' | 'listen_tls'>
  readonly inbound: Addresses<'listen'>
  readonly dns: Addresses<'zone_listen'>
  readonly metrics: Addresses<'listen'>
  readonly tls: { readonly acme: Addresses<'http_listen'> & { readonly enabled: boolean } }
}

export function listListeners(settings: ListenerSettings): readonly Listener[] {
  const { api, submission, inbound, dns, metrics, tls } = settings
  return [
    ...withKeys('api.listen', api.listen),
    ...withKeys('submission.listen', submission.listen),
    ...withKeys('submission.listen_tls', submission.listen_tls),
    ...withKeys('inbound.listen', inbound.listen),
    ...withKeys('dns.zone_listen', dns.zone_listen),
    ...withKeys('metrics.listen', metrics.listen),
    ...(tls.acme.enabled ? withKeys('tls.acme.http_listen', tls.acme.http_listen) : []),
  ]
}

function withKeys(key: string, addresses: readonly ListenerAddress[]): readonly Listener[] {
  return addresses.map((address, at) => ({ key: `${key}[${at}]`, address }))
}

/** Writes an address as the file does, without the protocol. */
export function formatListenerAddress(address: ListenerAddress): string {
  if ('path' in address) return `unix:${address.path}`
  const { host, port } = address
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/**
 * Whether only this machine reaches it: a Unix socket, loopback, or `localhost`, which is loopback (RFC 6761 section
 * 6.3).
 */
export function isLocal(address: ListenerAddress): boolean {
  return 'path' in address || address.host === 'localhost' || isLoopback(address.host)
}
