/** The tools that change something. */
import { z } from 'zod'
import { defineTool, type Tool } from './tool.js'

const addresses = z
  .union([z.string(), z.array(z.string()).min(1).max(50)], 'must be an address or a list of addresses')
  .describe('An address such as bob@example.com, or a list of addresses.')

export const changingTools: readonly Tool[] = [
  defineTool({
    name: 'send_email',
    description: 'Sends an email to real recipients. It cannot be taken back once the first attempt has begun.',
    changes: true,
    input: z.strictObject({
      from: z.string().describe('An address in a verified domain, such as App <app@example.com>.'),
      to: addresses,
      cc: addresses.optional(),
      bcc: addresses.optional(),
      reply_to: addresses.optional(),
      subject: z.string().optional().describe('Required without template_id.'),
      text: z.string().optional(),
      html: z.string().optional(),
      template_id: z.string().optional().describe('Supplies subject and bodies.'),
      template_data: z.record(z.string(), z.unknown()).optional().describe('The values of the variables.'),
      scheduled_for: z.string().optional().describe('When to send it, such as 2030-01-31T09:00:00Z. Without it now.'),
      idempotency_key: z
        .string()
        .regex(/^[\x21-\x7e]{1,256}$/, 'must be 1 to 256 characters of ASCII without spaces')
        .optional()
        .describe('Repeat a call that failed with the same key, and the email is sent once.'),
    }),
    run: (api, { idempotency_key: key, ...email }) =>
      api.post('/v1/emails', email, key === undefined ? {} : { 'idempotency-key': key }),
  }),
  defineTool({
    name: 'add_suppression',
    description: 'Puts an address on the suppression list, so that the workspace sends nothing to it.',
    changes: true,
    input: z.strictObject({ email: z.string().describe('The address.') }),
    run: (api, body) => api.post('/v1/suppressions', body),
  }),
  defineTool({
    name: 'verify_domain',
    description: 'Looks up the DNS records of a sending domain now, and updates its state.',
    changes: true,
    input: z.strictObject({
      id: z
        .string()
        .regex(/^[\w-]{1,64}$/, 'must be the id of a domain')
        .describe('The id of a domain.'),
    }),
    run: (api, { id }) => api.post(`/v1/domains/${id}/verify`, {}),
  }),
]
