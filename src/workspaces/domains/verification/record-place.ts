/** Finds where the records of a domain are entered: the zone that its DNS provider has, and names in it. Pure. */
import { ownerDomainOf } from '../../../base/mail/public-suffix.js'

/** The zone of `news.example.co.uk` is `example.co.uk`: what was registered, and what providers list. */
export function zoneNameOf(domain: string): string {
  return ownerDomainOf(domain)
}

/** A record by its full name, with the name that most providers ask for. */
export type Placed<RecordType> = RecordType & { readonly relative_name: string }

/** Adds the name within the zone of `domain`. It is `@` for the zone itself. */
export function placeRecord<RecordType extends { readonly name: string }>(
  record: RecordType,
  domain: string,
): Placed<RecordType> {
  const zone = zoneNameOf(domain)
  const { name } = record
  return { ...record, relative_name: name === zone ? '@' : name.slice(0, -zone.length - 1) }
}
