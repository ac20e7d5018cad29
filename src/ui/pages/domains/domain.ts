/** A domain, and what the parts of its page get. */
import type { components } from '../../api/schema.d.ts'

export type Domain = components['schemas']['Domain']

export interface DomainPartProps {
  readonly domain: Domain
  readonly onChanged: (domain: Domain) => void
}
