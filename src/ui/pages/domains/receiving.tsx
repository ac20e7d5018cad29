/** Shows and changes what a domain does with mail that arrives for it: whether it receives, what it refuses, and where it forwards. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { CheckField, SelectField, TextArea } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFlag, readLines, readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import { Facts } from '../../components/values.tsx'
import type { Domain, DomainPartProps } from './domain.ts'
import { Forwards } from './forwards.tsx'

type Policy = Domain['inbound_policy']
type Choices = { readonly [Name in keyof Policy]: readonly { readonly value: Policy[Name]; readonly label: string }[] }

const policies: Choices = {
  greylisting: [
    { value: 'default', label: 'As the server is set' },
    { value: 'on', label: 'Ask unknown senders to come back after some minutes' },
    { value: 'off', label: 'Accept unknown senders at once' },
  ],
  spam: [
    { value: 'file', label: 'Accept it and mark it as spam' },
    { value: 'refuse', label: 'Refuse it' },
  ],
  dmarc: [
    { value: 'default', label: 'Do what the domain of the author asks' },
    { value: 'strict', label: 'Refuse all of it' },
    { value: 'off', label: 'Refuse none of it' },
  ],
}

const labels = {
  greylisting: 'Unknown senders (greylisting)',
  spam: 'Spam',
  dmarc: 'Mail whose author is not proved (DMARC)',
} as const

export function Receiving({ domain, onChanged }: DomainPartProps): VNode {
  return (
    <>
      {mayAdminister.value ? (
        <ReceivingForm domain={domain} onChanged={onChanged} />
      ) : (
        <ReceivingFacts domain={domain} />
      )}
      <Forwards domain={domain} />
    </>
  )
}

function ReceivingForm({ domain, onChanged }: DomainPartProps): VNode {
  const { id, inbound, blocked_addresses: blocked, inbound_policy: policy } = domain
  const save = async (values: FormData): Promise<void> => {
    const body = readChange(values)
    onChanged(await unwrap(api.PATCH('/v1/domains/{id}', { params: { path: { id } }, body })))
    notify('The settings are saved.')
  }
  return (
    <Section title="Received mail">
      <Form onSubmit={save}>
        <CheckField
          name="inbound"
          label="Receive mail"
          checked={inbound}
          hint="The domain must be verified, and its MX record must point here."
        />
        <PolicyField name="spam" policy={policy} hint="Refused mail is not stored, so you cannot look at it." />
        <PolicyField name="dmarc" policy={policy} hint="Such mail often has a forged author." />
        <PolicyField name="greylisting" policy={policy} hint="Most programs that send spam do not come back." />
        <TextArea
          name="blocked_addresses"
          label="Blocked addresses"
          optional
          rows={3}
          value={blocked.join('\n')}
          hint="Posthorn refuses mail to these addresses. Enter one local part or address in each line. You cannot block postmaster."
        />
        <FormActions>
          <SubmitButton>Save the settings</SubmitButton>
        </FormActions>
      </Form>
    </Section>
  )
}

interface PolicyFieldProps {
  readonly name: keyof Policy
  readonly policy: Policy
  readonly hint: string
}

function PolicyField({ name, policy, hint }: PolicyFieldProps): VNode {
  return (
    <SelectField
      name={`inbound_policy.${name}`}
      label={labels[name]}
      options={policies[name]}
      value={policy[name]}
      hint={hint}
    />
  )
}

function readChange(values: FormData): components['schemas']['DomainChange'] {
  return {
    inbound: readFlag(values, 'inbound'),
    blocked_addresses: readLines(values, 'blocked_addresses'),
    inbound_policy: {
      greylisting: readChoice(values, 'greylisting'),
      spam: readChoice(values, 'spam'),
      dmarc: readChoice(values, 'dmarc'),
    },
  }
}

function readChoice<Name extends keyof Policy>(values: FormData, name: Name): Policy[Name] {
  const choices: Choices[Name] = policies[name]
  const chosen = choices.find(({ value }) => value === readText(values, `inbound_policy.${name}`)) ?? choices[0]
  if (chosen === undefined) throw new Error(`there is no choice for ${name}`)
  return chosen.value
}

function ReceivingFacts({
  domain: { inbound, blocked_addresses: blocked, inbound_policy: policy },
}: {
  readonly domain: Domain
}): VNode {
  const names = ['spam', 'dmarc', 'greylisting'] as const
  return (
    <Section title="Received mail">
      <Facts
        facts={[
          { name: 'Receives mail', value: inbound ? 'Yes' : 'No' },
          ...names.map((name) => ({
            name: labels[name],
            value: policies[name].find(({ value }) => value === policy[name])?.label ?? policy[name],
          })),
          { name: 'Blocked addresses', value: blocked.length === 0 ? 'None' : blocked.join(', ') },
        ]}
      />
    </Section>
  )
}
