'use strict';
const crypto = require('crypto'), fs = require('fs'), qs = require('querystring');
const { EventWebhook } = require('@sendgrid/eventwebhook');
const { getExpectedTwilioSignature, validateRequest } = require('twilio');
const out = process.argv[2];
const version = (name) => require(name + '/package.json').version;

// SendGrid
const hook = new EventWebhook();
const pair = () => crypto.generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const spki = (k) => k.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
const sign = (k, ts, body) => crypto.sign('sha256', Buffer.from(ts + body), { key: k.privateKey, dsaEncoding: 'der' }).toString('base64');
const ours = pair(), theirs = pair();
const batch = JSON.stringify([
  { email: 'ada@example.com', event: 'delivered', sg_event_id: 'ZGVsaXZlcmVk', sg_message_id: 'abc.recvd-1.0', timestamp: 1600112490, response: '250 OK', delivery_id: 'evt-1-staff10-EMAIL' },
  { email: 'bob@example.com', event: 'bounce', type: 'bounce', status: '5.1.1', reason: '550 5.1.1 <bob@example.com> unknown', sg_event_id: 'Ym91bmNl', sg_message_id: 'def.recvd-2.0', timestamp: 1600112491, delivery_id: 'evt-1-staff11-EMAIL' },
]);
const sg = [];
const add = (name, key, timestamp, body, signature) =>
  sg.push({ name, public_key: key, timestamp, body, signature, valid: hook.verifySignature(hook.convertPublicKeyToECDSA(key), body, signature, timestamp) });
// An example in SendGrid's libraries, signed by SendGrid.
const published = '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n';
const pk = 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==';
const ps = 'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=';
add("SendGrid's own example", pk, '1600112502', published, ps);
add("SendGrid's own example without its line break", pk, '1600112502', published.trimEnd(), ps);
const ts = '1600112502', good = sign(ours, ts, batch);
add('a batch', spki(ours), ts, batch, good);
add('an empty batch', spki(ours), ts, '[]', sign(ours, ts, '[]'));
add('no body', spki(ours), ts, '', sign(ours, ts, ''));
const unicode = '[{"event":"délivré — 配達"}]';
add('beyond ASCII', spki(ours), ts, unicode, sign(ours, ts, unicode));
add('one byte more', spki(ours), ts, batch + ' ', good);
add('one byte other', spki(ours), ts, batch.replace('bounce', 'bouncf'), good);
add('another time', spki(ours), '1600112503', batch, good);
add('a digit of the time moved to the body', spki(ours), '160011250', '2' + batch, good); // the same bytes are signed
add('a key of somebody else', spki(theirs), ts, batch, good);
add('signed by somebody else', spki(ours), ts, batch, sign(theirs, ts, batch));
fs.writeFileSync(out + '/sendgrid.json', JSON.stringify(sg, null, 2) + '\n');

// Twilio
const tw = [];
const token = '12345', other = '54321';
function twilio(name, { url, signed_url, fields, body, sent_body, with_token }) {
  body = body ?? new URLSearchParams(fields).toString();
  const signature = getExpectedTwilioSignature(with_token ?? token, signed_url ?? url, qs.parse(body));
  const sent = sent_body ?? body;
  tw.push({ name, token, url, body: sent, signature, valid: validateRequest(token, signature, url, qs.parse(sent)) });
}
const url = 'https://herald.example.com/webhooks/twilio?delivery_id=evt-1-customer42-SMS';
const fields = { SmsSid: 'SM0123', MessageSid: 'SM0123', SmsStatus: 'delivered', MessageStatus: 'delivered', To: '+15558675310', From: '+15005550006', AccountSid: 'AC1', ApiVersion: '2010-04-01' };
twilio('a receipt', { url, fields });
twilio('names of which one begins another', { url, fields: { ReasonConferenceEnded: 'test', Reason: 'Participant', To: '+1', Digits: '12' } });
twilio('no fields', { url, fields: {} });
twilio('an empty field', { url, fields: { ...fields, ErrorCode: '' } });
twilio('a field that is repeated with one value', { url, body: 'MediaUrl=a&MessageSid=SM1&MediaUrl=a' });
twilio('upper case before lower case', { url, body: 'b=1&B=2&a=3&A=4&_=5' });
twilio('beyond ASCII', { url, fields: { ...fields, Body: 'arrêtez — 停止 👋' } });
twilio('spaces and plus signs', { url, body: 'Body=a+b%20c%2Bd&From=%2B15005550006' });
twilio('an escaped query', { url: 'https://herald.example.com/webhooks/twilio?delivery_id=evt%2F1+%C3%A9-customer42-SMS', fields });
twilio('no query', { url: 'https://herald.example.com/webhooks/twilio/inbound', fields: { ...fields, Body: 'STOP', OptOutType: 'STOP' } });
twilio('behind a path', { url: 'https://example.com/herald/webhooks/twilio?delivery_id=x', fields });
twilio('a port, signed with it', { url: 'http://127.0.0.1:8080/webhooks/twilio?delivery_id=x', fields });
twilio('a port, signed without it', { url: 'https://herald.example.com:8443/webhooks/twilio?delivery_id=x', signed_url: 'https://herald.example.com/webhooks/twilio?delivery_id=x', fields });
twilio('no port, signed with the one of https', { url, signed_url: url.replace('.com/', '.com:443/'), fields });
twilio('no port, signed with the one of http', { url: url.replace('https', 'http'), signed_url: url.replace('https', 'http').replace('.com/', '.com:80/'), fields });
twilio('no port, signed with another', { url, signed_url: url.replace('.com/', '.com:8443/'), fields });
twilio('IPv6 with a port', { url: 'http://[::1]:8080/webhooks/twilio?delivery_id=x', fields });
twilio('another delivery', { url: url.replace('evt-1', 'evt-2'), signed_url: url, fields });
twilio('another host', { url: url.replace('herald.', 'evil.'), signed_url: url, fields });
twilio('another scheme', { url: url.replace('https', 'http'), signed_url: url, fields });
twilio('another value', { url, fields, sent_body: new URLSearchParams({ ...fields, MessageStatus: 'failed' }).toString() });
twilio('one field more', { url, fields, sent_body: new URLSearchParams({ ...fields, ErrorCode: '30005' }).toString() });
twilio('one field less', { url, fields, sent_body: 'MessageSid=SM0123' });
twilio('another token', { url, fields, with_token: other });
fs.writeFileSync(out + '/twilio.json', JSON.stringify(tw, null, 2) + '\n');
console.log('@sendgrid/eventwebhook', version('@sendgrid/eventwebhook'), 'twilio', version('twilio'));
for (const v of [...sg, ...tw]) console.log(v.valid, v.name);
