/** Rows of the section "Tracking", and the click statistics of an email. */
import { type Resource, readsOwn } from '../support/row.js'
import { boolean, filledText, integer, list, nullable, record, timestamp, uuid } from '../support/shapes.js'

const pixel = {
  'content-type': /^image\/gif$/,
  'content-length': /^43$/,
  'cache-control': /^no-store, no-cache, must-revalidate, proxy-revalidate$/,
  pragma: /^no-cache$/,
  expires: /^0$/,
}
const target = 'https://example.com/spring?a=1&b=2'
const location = /^https:\/\/example\.com\/spring\?a=1&b=2$/

const clickStatistics = record({
  email_id: uuid,
  clicked: boolean,
  first_clicked_at: nullable(timestamp),
  total_clicks: integer,
  unique_links_clicked: integer,
  links: list(record({ url: filledText, clicks: integer, last_clicked_at: timestamp })),
})

export const tracking: Resource = {
  name: 'Tracking',
  rows: [
    {
      row: 'GET /v1/track/open/:emailId',
      who: null,
      open: true,
      cases: [
        { says: 'the pixel, without a key', id: '{tracked}', as: 'none', responseHeaders: pixel },
        { says: 'of a broadcast', id: 'bc-{unknown}', query: { bid: '{unknown}' }, as: 'none', responseHeaders: pixel },
        { says: 'of an unknown id', id: '{unknown}', as: 'none', responseHeaders: pixel },
        { says: 'of anything', id: '../x', query: { more: '1' }, as: 'wrong', responseHeaders: pixel },
        {
          says: 'without its body',
          request: 'HEAD /v1/track/open/:emailId',
          id: '{tracked}',
          as: 'none',
          responseHeaders: pixel,
        },
      ],
    },
    {
      row: 'GET /v1/track/click/:trackingId',
      who: null,
      open: true,
      cases: [
        { says: 'to the URL', id: '{link}', as: 'none', status: 302, responseHeaders: { location } },
        {
          says: 'with parameters of the interface and of others',
          id: '{link}',
          query: { url: target, tid: '1', bid: '2', fbclid: '3' },
          as: 'none',
          status: 302,
          responseHeaders: { location },
        },
        {
          says: 'not to a URL of the request',
          id: '{link}',
          query: { url: 'https://elsewhere.test/' },
          as: 'none',
          status: 302,
          responseHeaders: { location },
        },
        {
          says: 'not to a URL of the request, of a broadcast either: a page',
          id: 'bc-{unknown}',
          query: { url: target, bid: '{unknown}', tid: 'a' },
          as: 'none',
          status: 404,
          responseHeaders: { 'content-type': /^text\/html/ },
        },
        {
          says: 'an unknown id: a page',
          id: '{unknown}',
          query: { url: 'https://elsewhere.test/' },
          as: 'none',
          status: 404,
          responseHeaders: { 'content-type': /^text\/html/, 'content-security-policy': /default-src 'none'/ },
        },
      ],
    },
    {
      row: 'GET /v1/emails/:id/clicks',
      who: readsOwn,
      cases: [
        {
          says: 'the three clicks above',
          id: '{tracked}',
          shape: clickStatistics,
          holds: {
            ...{ clicked: true, total_clicks: 3, unique_links_clicked: 1 },
            ...{ 'links.0.url': target, 'links.0.clicks': 3 },
          },
          until: true,
        },
        {
          says: 'none',
          id: '{email}',
          shape: clickStatistics,
          holds: { clicked: false, first_clicked_at: null, total_clicks: 0, unique_links_clicked: 0, links: [] },
        },
        { says: 'an unknown id', id: '{unknown}', refused: { code: 'email_not_found', id: '{unknown}' } },
        { says: "another workspace's", id: '{tracked}', as: 'foreign', refused: { code: 'email_not_found' } },
      ],
    },
  ],
}
