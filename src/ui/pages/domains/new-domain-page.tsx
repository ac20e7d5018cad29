/** Adds a domain. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { toFieldError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button, ButtonLink } from '../../components/button.tsx'
import { CheckField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFlag, readText } from '../../components/form-values.ts'
import { Page } from '../../components/page.tsx'
import { readTypedDomain } from './domain-name.ts'

export function NewDomainPage(): VNode {
  const [, navigate] = useLocation()
  const add = async (values: FormData): Promise<void> => {
    const body = { domain: readDomain(values), inbound: readFlag(values, 'inbound') }
    const { id } = await unwrap(api.POST('/v1/domains', { body }))
    navigate(`/domains/${id}`)
  }
  return (
    <Page title="Add a domain" up={{ href: '/domains', label: 'Domains' }}>
      <Form onSubmit={add}>
        <DomainField />
        <CheckField
          name="inbound"
          label="Receive mail for this domain"
          hint="This needs an MX record too. You can turn it on later."
        />
        <FormActions>
          <SubmitButton>Add the domain</SubmitButton>
          <ButtonLink href="/domains" tone="quiet">
            Cancel
          </ButtonLink>
        </FormActions>
      </Form>
    </Page>
  )
}

function readDomain(values: FormData): string {
  const domain = readText(values, 'domain')
  const { proposal, isAddress } = readTypedDomain(domain)
  if (!isAddress || proposal === null) return domain
  throw toFieldError('domain', `This is an address, and Posthorn needs its domain. Did you mean ${proposal}?`)
}

/** Proposes the domain of an address that was pasted. */
function DomainField(): VNode {
  const [typed, setTyped] = useState('')
  /** What the user has taken of a proposal, which the field then has. */
  const [taken, setTaken] = useState('')
  const { proposal } = readTypedDomain(typed)
  const take = (domain: string): void => {
    setTaken(domain)
    setTyped(domain)
  }
  return (
    <>
      <TextField
        key={taken}
        value={taken}
        takesFocus={taken !== ''}
        onInput={setTyped}
        name="domain"
        label="Domain"
        placeholder="example.com"
        inputMode="url"
        hint="The part of your sender addresses after the @. You can use a subdomain, such as news.example.com."
      />
      {proposal === null ? null : <Proposal domain={proposal} onUse={take} />}
    </>
  )
}

interface ProposalProps {
  readonly domain: string
  readonly onUse: (domain: string) => void
}

function Proposal({ domain, onUse }: ProposalProps): VNode {
  return (
    <p class="form-actions" role="status">
      <span>
        Did you mean <strong>{allowBreaks(domain)}</strong>?
      </span>
      <Button small onClick={() => onUse(domain)}>
        Use {domain}
      </Button>
    </p>
  )
}
