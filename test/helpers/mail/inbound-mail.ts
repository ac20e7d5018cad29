/** A record of mail that came in, as it is filed before anybody has looked at it. */
import type { NewInbound } from '../../../src/messages/inbound/inbound-email.js'

export function inboundMail(more: Partial<NewInbound> & Pick<NewInbound, 'id'>): NewInbound {
  return {
    workspace_id: 'ws_1',
    kind: 'mail',
    domain: 'a.test',
    envelope_from: 'bob@b.test',
    envelope_to: '["info@a.test"]',
    client_address: '192.0.2.1',
    helo: 'mx.b.test',
    spf_result: 'pass',
    dkim_result: 'none',
    dmarc_result: 'none',
    authentication: '{}',
    arrival: { earlyTalker: false, listings: [], spamReason: null },
    received_at: 1000,
    ...more,
  }
}
