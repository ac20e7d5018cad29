/** A forwarding rule, and what it matches in words. */
import type { components } from '../../api/schema.d.ts'

export type Forward = components['schemas']['Forward']

export function describeMatch(match: string, domain: string): string {
  return match === '*' ? `all other addresses of ${domain}` : `${match}@${domain}`
}
