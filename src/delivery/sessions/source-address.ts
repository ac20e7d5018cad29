/**
 * Which of our addresses calls a host: the first configured one of the host's family,
 * by turns where there are several; null leaves it to the system.
 */
import { isIPv6 } from 'node:net'

export function createSourceAddressChooser(configured: readonly string[]): (address: string) => string | null {
  const byFamily = { 4: configured.filter((own) => !isIPv6(own)), 6: configured.filter((own) => isIPv6(own)) }
  let turn = 0
  return (address) => {
    const own = byFamily[isIPv6(address) ? 6 : 4]
    if (own.length === 0) return null
    turn += 1
    return own[turn % own.length] ?? null
  }
}
