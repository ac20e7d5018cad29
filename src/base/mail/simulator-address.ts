/**
 * The addresses of the simulator: `delivered@`, `bounce@`, `complaint@`, `soft-bounce@` and `slow@` of
 * `simulator.<zone>`, each also with a tag (`bounce+signup@`). Mail to them is delivered nowhere: delivery ends as the
 * local part says (`delivery/simulator/script.ts`).
 */
import { type Address, type DomainName, localPartOf } from './address.js'

const scriptNames = ['delivered', 'bounce', 'complaint', 'soft-bounce', 'slow'] as const

export type ScriptName = (typeof scriptNames)[number]

export function simulatorDomainOf(zone: DomainName): DomainName {
  return `simulator.${zone}` as DomainName
}

/** Null if the simulator has no such address. */
export function scriptNameOf(address: Address): ScriptName | null {
  const [name] = localPartOf(address).toLowerCase().split('+')
  return scriptNames.find((known) => known === name) ?? null
}
