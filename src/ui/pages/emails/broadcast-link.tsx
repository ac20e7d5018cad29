/** Leads from an email to the broadcast that it belongs to, and to the other recipients. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'

const NOT_FOUND = 404

export function BroadcastLink({ id }: { readonly id: string }): VNode {
  const { data, error } = useLoad(() => unwrap(api.GET('/v1/broadcasts/{id}', { params: { path: { id } } })), [id])
  if (error?.status === NOT_FOUND) return <>Deleted since then</>
  return (
    <>
      <Link href={`/broadcasts/${id}`}>{data?.name ?? 'Show the broadcast'}</Link>
      {' · '}
      <Link href={`/broadcasts/${id}/recipients`}>its recipients</Link>
    </>
  )
}
