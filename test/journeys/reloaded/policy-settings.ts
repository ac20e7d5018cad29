/** Observes the settings of delivery that say how TLS is demanded, and what is reported. */
import { pino } from 'pino'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { TlsReports } from '../../../src/outbound/delivery/tls-reports/tls-reports.js'
import { DestinationSecurer } from '../../../src/outbound/delivery/transport-security/secure-destination.js'
import { dsn } from '../../helpers/receiving/report-text.js'
import type { MxClients } from './mx-clients.js'
import type { Observations, ReloadedDaemon } from './observation.js'
import type { Sinks } from './outbound-settings.js'

export function policySettings(here: ReloadedDaemon, mx: MxClients, sinks: Sinks): Observations {
  return { ...securitySettings(here), ...reportSettings(here, mx, sinks) }
}

/** They need records that are proved by DNSSEC, and so a resolver that says they are. */
function securitySettings({ settings }: ReloadedDaemon): Observations {
  const judged = <T>(record: T) => ({
    lookup: { kind: 'records' as const, records: [record] as const },
    isAuthentic: true,
    alias: null,
  })
  const securer = (isSigned: boolean): DestinationSecurer =>
    new DestinationSecurer({
      resolver: {
        judgeMx: async () => ({ ...judged({ preference: 10, exchange: 'mx.b.test' }), isAuthentic: isSigned }),
        judgeRecords: async (_name, type) => judged(type === 'TLSA' ? `3 1 1 ${'ab'.repeat(32)}` : '192.0.2.1'),
      },
      stsPolicies: { find: async () => ({ mode: 'enforce', patterns: ['mx.b.test'], maxAge: 1 }), size: 1 },
      settings: () => settings().outbound,
    })
  const findRule = async (securing: DestinationSecurer): Promise<unknown> => {
    const host = {
      mx: 'mx.b.test',
      address: '192.0.2.1',
      port: 25,
      tls: 'opportunistic',
      auth: null,
      final: true,
    } as const
    const found = await securing.secure(parseDomainName('b.test'), Promise.resolve({ kind: 'hosts', hosts: [host] }))
    return found.kind === 'hosts' ? found.hosts[0]?.security?.rule.kind : found
  }
  const [signed, unsigned] = [securer(true), securer(false)]
  return {
    'outbound.dane': { from: 'auto', to: 'off', sees: ['dane', 'sts-enforce'], look: () => findRule(signed) },
    'outbound.mta_sts': { from: true, to: false, sees: ['sts-enforce', 'none'], look: () => findRule(unsigned) },
  }
}

function reportSettings(here: ReloadedDaemon, mx: MxClients, { one }: Sinks): Observations {
  const { app, settings } = here
  const { database } = app.daemon
  const opened = TlsReports.open({
    ...{ config: app.config, settings, clock: app.now, log: pino({ level: 'silent' }) },
    ...{ ...database, resolver: null, authorities: undefined },
  })
  return {
    'outbound.tls_reports': {
      ...{ from: true, to: false, sees: [1, 0] },
      look: async () => {
        const domain = `reported${here.next()}.test`
        const reports = await opened
        reports.onTlsResult({
          ...{ domain, policy: { type: 'no-policy-found', strings: [], hosts: [] }, failure: null, at: app.now() },
          ...{ sendingAddress: null, receivingAddress: null, receivingHost: null },
        })
        await reports.stop()
        return (await app.rows('select 1 from tls_policies where domain = ?', domain)).length
      },
    },
    'outbound.forward_bounces': {
      ...{ from: true, to: false, sees: [1, 0] },
      look: async () => {
        const recipient = `n${here.next()}@d.test`
        await app.waitUntilSettled(await app.submitAccepted({ to: [recipient] }))
        const path = /bounce\+[^>]*/.exec(one.messages.at(-1)?.mailFrom ?? '')?.[0] ?? ''
        const countNotices = async (): Promise<number> =>
          (await app.rows(`select 1 from emails where workspace_id = 'service'`)).length
        const count = await countNotices()
        await mx.report(path, dsn({ path, status: '5.7.1', recipient }))
        return (await countNotices()) - count
      },
    },
  }
}
