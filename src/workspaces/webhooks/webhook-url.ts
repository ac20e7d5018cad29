/**
 * Decides which URLs a webhook may have: http or https, a public host, port 80, 443 or one above 1023. Its credentials
 * are stored apart from it (`settings/url-login.ts`).
 *
 * We judge a host that is an address here, in whatever spelling, because `URL` turns `0x7f.1` and `2130706433` into
 * `127.0.0.1`. We judge a name when the webhook is made, and again at each attempt by the addresses that we dial
 * then.
 */
import { Refusal } from '../../base/mail/refusal.js'
import type { AddressGuard } from '../../base/platform/address-guard.js'
import type { Resolver } from '../../base/platform/dns/resolver.js'
import { findHostAddresses, literalAddressOf } from '../../base/platform/http/host-addresses.js'

export const MAX_URL_LENGTH = 2048

interface UrlRules {
  readonly mayConnect: AddressGuard
  readonly resolveAddresses: Resolver['resolveAddresses']
}

/** Names the rule that the text breaks, whatever its host leads to. Null means none. */
export function findUrlFault(text: string): string | null {
  if (text.length > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`
  if (!/^https?:\/\/[^/\\?#]/i.test(text)) return 'must begin with https:// or http:// and a host'
  if (/[\s\p{Cc}\\]/u.test(text) || !URL.canParse(text)) return 'is not a valid URL'
  const url = new URL(text)
  if (text.includes('#')) return 'must have no fragment ("#")'
  return isAllowedPort(url) ? null : 'must have the port 80, 443 or one from 1024 to 65535'
}

/** Checks syntax, scheme, port and an address as host; throws a Refusal for the field `url`. */
export function checkWebhookUrl(text: string, mayConnect: AddressGuard): URL {
  const fault = findUrlFault(text)
  if (fault !== null) throw refuseUrl(text, fault)
  const url = new URL(text)
  const address = literalAddressOf(url)
  if (address !== null && !mayConnect(address)) throw refuseUrl(text, PRIVATE)
  return url
}

const PRIVATE = 'must lead to a public address, or to a network of webhooks.allowed_private_networks'

/** Look-ups of one workspace at a time. A host whose DNS is silent holds each for up to 21 s. */
const MAX_LOOKUPS = 4

export class UrlCheck {
  private readonly lookups = new Map<string, number>()

  constructor(private readonly rules: UrlRules) {}

  /**
   * As `checkWebhookUrl`, and a name that resolves must have an address that may be dialled. A name that does not resolve
   * now is accepted, and so is one that comes while the workspace has `MAX_LOOKUPS` under way: each attempt judges again.
   */
  async check(text: string, workspaceId: string): Promise<URL> {
    const url = checkWebhookUrl(text, this.rules.mayConnect)
    if ((this.lookups.get(workspaceId) ?? 0) >= MAX_LOOKUPS) return url
    this.count(workspaceId, 1)
    const found = await findHostAddresses(url, this.rules).finally(() => this.count(workspaceId, -1))
    if (found.kind === 'refused') throw refuseUrl(text, PRIVATE)
    return url
  }

  private count(workspaceId: string, change: 1 | -1): void {
    const underWay = (this.lookups.get(workspaceId) ?? 0) + change
    if (underWay === 0) this.lookups.delete(workspaceId)
    else this.lookups.set(workspaceId, underWay)
  }
}

function isAllowedPort({ port }: URL): boolean {
  return port === '' || port === '80' || port === '443' || Number(port) > 1023
}

function refuseUrl(value: string, rule: string): Refusal {
  return new Refusal('invalid-parameter', `url: ${rule}`, { field: 'url', value: hideLogin(value).slice(0, 100) })
}

function hideLogin(text: string): string {
  return text.replace(/^([^/]*\/\/)[^/?#]*@/, '$1')
}
