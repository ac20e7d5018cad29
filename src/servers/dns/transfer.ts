/**
 * The complete zone as a series of messages: AXFR (RFC 5936), over TCP to secondaries only. Pure, over the zone.
 *
 * The zone is read page by page while it is sent. If it changed in this time, the secondary would get a zone that never
 * existed. Therefore the transfer breaks off, and the secondary starts again. An incremental transfer (IXFR) is
 * answered with the complete zone too, or with the SOA record only if the secondary has this serial already (RFC 1995
 * section 2).
 */

import { recordTypes, responseCodes } from '../../base/platform/dns/codes.js'
import type { ServiceZone } from '../../workspaces/domains/zone/zone.js'
import type { SoaRecord, ZoneRecord } from '../../workspaces/domains/zone/zone-records.js'
import type { Query } from './query.js'
import { encodeRecord } from './reply.js'

/** The zone changed during its transfer. */
export class TransferOutdated extends Error {
  override name = 'TransferOutdated'
}

/** Octets of records in one message. */
const MAX_RECORD_OCTETS = 16_384

/** Throws `TransferOutdated`. */
export async function* encodeTransfer(zone: ServiceZone, query: Query): AsyncGenerator<Buffer> {
  const soa = await zone.readSoa()
  if (query.type === recordTypes.IXFR && query.serial !== null && !isOlderSerial(query.serial, soa.data.serial)) {
    yield encodeTransferMessage(query, [encodeRecord(soa, '')])
    return
  }
  let part: Buffer[] = []
  let size = 0
  for await (const record of iterateRecords(zone, soa)) {
    const octets = encodeRecord(record, '')
    if (size + octets.length > MAX_RECORD_OCTETS) {
      yield encodeTransferMessage(query, part)
      part = []
      size = 0
    }
    part.push(octets)
    size += octets.length
  }
  yield encodeTransferMessage(query, part)
}

/** The SOA record opens and closes it (RFC 5936 section 2.2). */
async function* iterateRecords(zone: ServiceZone, soa: SoaRecord): AsyncGenerator<ZoneRecord> {
  yield soa
  for await (const page of zone.readPages()) {
    yield* page
    if ((await zone.readSerial()) !== soa.data.serial) throw new TransferOutdated('the zone has changed')
  }
  yield soa
}

/** Compares by serial number arithmetic (RFC 1982). */
function isOlderSerial(theirs: number, ours: number): boolean {
  return ((ours - theirs) | 0) > 0
}

function encodeTransferMessage({ id, question, recursionDesired }: Query, records: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(12)
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(0x8400 | (recursionDesired ? 0x0100 : 0) | responseCodes.NOERROR, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, question, ...records])
}
