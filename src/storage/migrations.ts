/** All migrations in their order. A released migration never changes: a correction is a new one. */
import type { Migration } from 'kysely/migration'
import * as sending from './migrations/0001-sending.js'
import * as rest from './migrations/0002-rest.js'
import * as bayes from './migrations/0003-bayes.js'
import * as inbound from './migrations/0004-inbound.js'
import * as arrival from './migrations/0005-arrival.js'
import * as blockedAddresses from './migrations/0006-blocked-addresses.js'
import * as domains from './migrations/0007-domains.js'
import * as content from './migrations/0008-content.js'
import * as audiences from './migrations/0009-audiences.js'
import * as people from './migrations/0010-people.js'
import * as zone from './migrations/0011-zone.js'
import * as indexes from './migrations/0012-indexes.js'
import * as boundedReads from './migrations/0013-bounded-reads.js'
import * as imports from './migrations/0014-imports.js'
import * as inviters from './migrations/0015-inviters.js'
import * as inboundTotals from './migrations/0016-inbound-totals.js'
import * as datedLearning from './migrations/0018-dated-learning.js'
import * as waitingEntries from './migrations/0019-waiting-entries.js'
import * as tracking from './migrations/0020-tracking.js'
import * as webhooks from './migrations/0021-webhooks.js'
import * as events from './migrations/0022-events.js'
import * as broadcasts from './migrations/0023-broadcasts.js'
import * as metrics from './migrations/0024-metrics.js'
import * as exports from './migrations/0025-exports.js'
import * as sms from './migrations/0026-sms.js'
import * as sessions from './migrations/0027-sessions.js'
import * as audienceIndexes from './migrations/0028-audience-indexes.js'
import * as queueLists from './migrations/0030-queue-lists.js'
import * as suppressionSearch from './migrations/0031-suppression-search.js'
import * as subscribedCounts from './migrations/0032-subscribed-counts.js'
import * as knownBrowsers from './migrations/0033-known-browsers.js'
import * as holdRules from './migrations/0034-hold-rules.js'
import * as doctor from './migrations/0035-doctor.js'
import * as providerPaces from './migrations/0036-provider-paces.js'
import * as warmUps from './migrations/0037-warm-ups.js'
import * as transportSecurity from './migrations/0038-transport-security.js'
import * as tlsReports from './migrations/0039-tls-reports.js'
import * as domainReports from './migrations/0040-domain-reports.js'
import * as breakers from './migrations/0041-breakers.js'
import * as forwards from './migrations/0042-forwards.js'
import * as inboundOptions from './migrations/0043-inbound-options.js'
import * as spool from './migrations/0044-spool.js'
import * as hits from './migrations/0045-hits.js'
import * as owners from './migrations/0046-owners.js'
import * as mailReceivers from './migrations/0047-mail-receivers.js'
import * as recipientCounts from './migrations/0048-recipient-counts.js'
import * as spoolChecksum from './migrations/0049-spool-checksum.js'
import * as diskHeld from './migrations/0050-disk-held.js'

export const migrations: Readonly<Record<string, Migration>> = {
  '0001-sending': sending,
  '0002-rest': rest,
  '0003-bayes': bayes,
  '0004-inbound': inbound,
  '0005-arrival': arrival,
  '0006-blocked-addresses': blockedAddresses,
  '0007-domains': domains,
  '0008-content': content,
  '0009-audiences': audiences,
  '0010-people': people,
  '0011-zone': zone,
  '0012-indexes': indexes,
  '0013-bounded-reads': boundedReads,
  '0014-imports': imports,
  '0015-inviters': inviters,
  '0016-inbound-totals': inboundTotals,
  '0018-dated-learning': datedLearning,
  '0019-waiting-entries': waitingEntries,
  '0020-tracking': tracking,
  '0021-webhooks': webhooks,
  '0022-events': events,
  '0023-broadcasts': broadcasts,
  '0024-metrics': metrics,
  '0025-exports': exports,
  '0026-sms': sms,
  '0027-sessions': sessions,
  '0028-audience-indexes': audienceIndexes,
  '0030-queue-lists': queueLists,
  '0031-suppression-search': suppressionSearch,
  '0032-subscribed-counts': subscribedCounts,
  '0033-known-browsers': knownBrowsers,
  '0034-hold-rules': holdRules,
  '0035-doctor': doctor,
  '0036-provider-paces': providerPaces,
  '0037-warm-ups': warmUps,
  '0038-transport-security': transportSecurity,
  '0039-tls-reports': tlsReports,
  '0040-domain-reports': domainReports,
  '0041-breakers': breakers,
  '0042-forwards': forwards,
  '0043-inbound-options': inboundOptions,
  '0044-spool': spool,
  '0045-hits': hits,
  '0046-owners': owners,
  '0047-mail-receivers': mailReceivers,
  '0048-recipient-counts': recipientCounts,
  '0049-spool-checksum': spoolChecksum,
  '0050-disk-held': diskHeld,
}
