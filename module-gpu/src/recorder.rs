//! Launches and copies, recorded in the order in which they were asked for and handed to the driver in groups.

use std::collections::VecDeque;
use std::sync::Arc;

use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, Buffer, BufferBinding,
    BufferDescriptor, BufferSize, BufferUsages, CommandEncoder, CommandEncoderDescriptor,
    ComputePass, ComputePassDescriptor, Device, ErrorFilter, PollType, Queue, SubmissionIndex,
};

use crate::failures::{Failures, Operations, asks_for, asks_for_all};
use crate::pipelines::Pipeline;
use crate::staging::Staging;
use crate::stats::{Counters, add};
use crate::wait::wait_for;

/// Launches of a group, unless a program sets another number.
const GROUP: usize = 64;

/// Bytes of the parameters of a group.
const PARAMETERS: u64 = 256 << 10;

/// Groups that the driver may have before the host waits for the first of them. This bounds the memory of what was uploaded.
const AHEAD: usize = 64;

/// The maximum of workgroups in a dimension.
pub(crate) const MAX_GROUPS: u64 = 65535;

pub(crate) struct Recorder {
    device: Device,
    queue: Queue,
    encoder: Option<CommandEncoder>,
    pass: Option<ComputePass<'static>>,
    /// The parameters of the launches of this group, which are written to `buffer` before it runs.
    parameters: Vec<u8>,
    buffer: Buffer,
    alignment: usize,
    launches: usize,
    /// The launches after which a group is handed over.
    group_size: usize,
    /// The operations of this group, for errors that the driver finds when it gets the group.
    operations: Operations,
    submitted: VecDeque<SubmissionIndex>,
    /// The memory that this group copies from.
    uploads: Vec<Buffer>,
    staging: Staging,
    failures: Arc<Failures>,
}

impl Recorder {
    pub(crate) fn new(
        device: Device,
        queue: Queue,
        staging: Staging,
        failures: Arc<Failures>,
    ) -> Self {
        let buffer = device.create_buffer(&BufferDescriptor {
            label: Some("parameters"),
            size: PARAMETERS,
            usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let alignment = device.limits().min_uniform_buffer_offset_alignment;
        Self {
            device,
            queue,
            encoder: None,
            pass: None,
            parameters: Vec::new(),
            buffer,
            alignment: alignment.max(16) as usize,
            launches: 0,
            group_size: GROUP,
            operations: Operations::default(),
            submitted: VecDeque::new(),
            uploads: Vec::new(),
            staging,
            failures,
        }
    }

    /// Hands over groups of this many launches from now on, the present one first.
    pub(crate) fn set_group_size(&mut self, launches: usize, counters: &Counters) {
        self.submit(counters);
        self.group_size = launches.max(1);
    }

    fn encoder(&mut self) -> &mut CommandEncoder {
        let device = &self.device;
        let create = || device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.encoder.get_or_insert_with(create)
    }

    /// Records a launch of this many workgroups.
    pub(crate) fn launch(
        &mut self,
        op: &'static str,
        pipeline: &Pipeline,
        buffers: &[&Buffer],
        parameters: &[u32],
        groups: u64,
        counters: &Counters,
    ) {
        let start = self.parameters.len().next_multiple_of(self.alignment);
        if start as u64 + pipeline.parameters > PARAMETERS || self.launches >= self.group_size {
            self.submit(counters);
        }
        asks_for(op);
        self.operations.add(op);
        let start = self.parameters.len().next_multiple_of(self.alignment);
        self.parameters.resize(start, 0);
        let words = parameters.iter().flat_map(|word| word.to_le_bytes());
        self.parameters.extend(words);
        self.parameters
            .resize(start + pipeline.parameters as usize, 0);
        let group = self.bind(pipeline, buffers, start as u64);
        if self.pass.is_none() {
            let pass = self
                .encoder()
                .begin_compute_pass(&ComputePassDescriptor::default());
            self.pass = Some(pass.forget_lifetime());
        }
        if let Some(pass) = &mut self.pass {
            let rows = groups.div_ceil(MAX_GROUPS);
            let columns = groups.min(MAX_GROUPS);
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(columns as u32, rows as u32, 1);
        }
        self.launches += 1;
        add(&counters.launches, 1);
    }

    fn bind(&self, pipeline: &Pipeline, buffers: &[&Buffer], start: u64) -> BindGroup {
        let parameters = BindGroupEntry {
            binding: 0,
            resource: BindingResource::Buffer(BufferBinding {
                buffer: &self.buffer,
                offset: start,
                size: BufferSize::new(pipeline.parameters),
            }),
        };
        let rest = (1..).zip(buffers).map(|(binding, buffer)| BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        });
        let entries: Vec<_> = std::iter::once(parameters).chain(rest).collect();
        self.device.create_bind_group(&BindGroupDescriptor {
            label: None,
            layout: &pipeline.layout,
            entries: &entries,
        })
    }

    /// Ends the pass, in which the driver may find errors of its launches.
    fn end_pass(&mut self) {
        asks_for_all(&self.operations);
        self.pass = None;
    }

    /// Records a copy of the first bytes of one buffer to another.
    pub(crate) fn copy(
        &mut self,
        op: &'static str,
        from: &Buffer,
        start: u64,
        to: &Buffer,
        bytes: u64,
    ) {
        self.end_pass();
        asks_for(op);
        self.operations.add(op);
        self.encoder()
            .copy_buffer_to_buffer(from, start, to, 0, Some(bytes));
    }

    /// Records a copy of the first bytes of memory that the host has written to.
    pub(crate) fn upload(&mut self, from: Buffer, to: &Buffer, bytes: u64) {
        self.copy("upload", &from, 0, to, bytes);
        self.uploads.push(from);
    }

    /// Writes to the start of a buffer, after everything that was recorded.
    pub(crate) fn write(&mut self, to: &Buffer, bytes: &[u8], counters: &Counters) {
        self.submit(counters);
        self.queue.write_buffer(to, 0, bytes);
    }

    /// Hands everything recorded to the driver, and returns the number of the last group.
    pub(crate) fn submit(&mut self, counters: &Counters) -> Option<SubmissionIndex> {
        self.end_pass();
        let Some(encoder) = self.encoder.take() else {
            return self.submitted.back().cloned();
        };
        if !self.parameters.is_empty() {
            self.queue.write_buffer(&self.buffer, 0, &self.parameters);
            self.parameters.clear();
        }
        self.launches = 0;
        self.operations.clear();
        add(&counters.submissions, 1);
        // A group that the driver refuses has no number to wait for.
        let filters = [
            ErrorFilter::Internal,
            ErrorFilter::OutOfMemory,
            ErrorFilter::Validation,
        ];
        let scopes = filters.map(|filter| self.device.push_error_scope(filter));
        let group = self.queue.submit([encoder.finish()]);
        for buffer in self.uploads.drain(..) {
            self.staging.give(buffer);
        }
        let found = scopes.into_iter().rev();
        let found = found.filter_map(|scope| wait_for(scope.pop())).last();
        match found {
            Some(error) => self.failures.keep(&error.to_string()),
            None => self.submitted.push_back(group),
        }
        if self.submitted.len() > AHEAD {
            let first = self.submitted.pop_front();
            // An error is kept by the device's handler.
            let _ = self.device.poll(PollType::Wait {
                submission_index: first,
                timeout: None,
            });
        } else {
            let _ = self.device.poll(PollType::Poll);
        }
        self.submitted.back().cloned()
    }
}
