/**
 * Submits a message as an application does, over SMTP with STARTTLS and the key as password.
 *
 *   node send.mjs KEY SUBJECT
 */
import { createTransport } from 'nodemailer'

const [key = '', subject = ''] = process.argv.slice(2)
const transport = createTransport({
  host: '127.0.0.1',
  port: 2587,
  requireTLS: true,
  tls: { rejectUnauthorized: false },
  auth: { user: 'posthorn', pass: key },
})
const { response } = await transport.sendMail({
  from: 'you@example.com',
  to: 'someone@example.org',
  subject,
  text: 'This came out of a container.',
})
console.log(response)
